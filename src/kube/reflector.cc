#include "kube/reflector.h"

#include <fmt/format.h>
#include <malloc.h>

#include "base/overload.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

constexpr Duration kOddNewsEvery = 10s;

// A server that does not know the option sends what there is and then goes on as a watch, without the mark of the end. A list
// that is merely large or slow comes at a steady pace; this is under a tenth of what a server has been seen to send.
constexpr Duration kMarkWithin = 30s;
constexpr Duration kPaceEvery = 5s;
constexpr std::size_t kSlowPace = 1024 * 1024;   // bytes in kPaceEvery

std::string who_is(const Node& node) { return node.name.str(); }
std::string who_is(const Pod& pod) { return pod.name_space + "/" + pod.name; }

}  // namespace

template <class T>
Reflector<T>::Reflector(Client& client, Resource resource, std::unique_ptr<Decoder<T>> json, Sink<T>& sink, Clock& clock,
                        ReflectorOptions options, std::unique_ptr<Decoder<T>> protobuf)
    : client_(client),
      resource_(std::move(resource)),
      json_(std::move(json)),
      protobuf_(std::move(protobuf)),
      sink_(sink),
      clock_(clock),
      options_(std::move(options)),
      ask_for_(protobuf_ ? Encoding::kProtobuf : Encoding::kJson),
      decoder_(json_.get()) {
  draw_watch_time();
}

template <class T>
void Reflector<T>::run(const std::stop_token& stop) {
  Next now{first_phase(options_.streaming), options_.streaming};
  int failures = 0;
  const std::uint64_t seed = std::hash<std::string>{}(resource_.name);
  while (!stop.stop_requested()) {
    if (!std::holds_alternative<Watching>(now.phase) && !clock_.sleep_for(list_wait(), stop)) break;
    turn_ = {};
    const MonoTime began = clock_.now();
    const Happened what = std::visit([&](auto& at) { return step(at, stop); }, now.phase);
    if (stop.stop_requested()) break;
    if (!std::holds_alternative<Complete>(what)) see(false);
    Next next = after(now.phase, what, now.streaming);
    note(what, now, next);
    now = std::move(next);
    if (now.at_once) continue;                                   // list_wait() keeps a 410 each time from turning hot
    // A watch may end at any time. One that ends as soon as it is there, whatever it brought, is a failure of the server's: as
    // with one that is refused, each asks for a longer wait.
    if (turn_.brought && clock_.now() - began >= options_.sound_watch) failures = 0;
    const auto* error = std::get_if<Error>(&what);
    const Duration asked = error == nullptr ? Duration::zero() : error->retry_after.value_or(0ms);
    if (!clock_.sleep_for(std::max(asked, backoff_delay(options_.backoff, ++failures, seed)), stop)) break;
  }
  feed_.reset();
}

// A server without streaming lists is no trouble, and a list that was complete is the end of one.
template <class T>
void Reflector<T>::note(const Happened& what, const Next& before, const Next& next) {
  if (before.streaming && !next.streaming) {
    telemetry::info("the API server has no streaming lists, reading in pages", {{"resource", resource_.name}});
  } else if (const auto* error = std::get_if<Error>(&what)) {
    settle_in(error->message);
  }
}

// ---- a streaming list ------------------------------------------------------------------------------------------------

template <class T>
Happened Reflector<T>::step(StreamingList&, const std::stop_token& stop) {
  if (auto opened = open_feed(streaming_list_path(resource_, watch_seconds_), stop); !opened) return opened.error();
  sink_.list_begins();
  std::optional<ResourceVersion> complete;
  const auto on_line = [&](std::string_view line) { return initial_line(line, complete); };
  const MonoTime mark_due = clock_.now() + kMarkWithin;
  MonoTime look = clock_.now() + kPaceEvery;
  std::size_t bytes = 0;
  std::size_t bytes_before = 0;
  Result<> read;
  while (read && !complete) {
    if (clock_.now() >= look) {
      if (look >= mark_due && bytes - bytes_before < kSlowPace) break;
      bytes_before = bytes;
      look += kPaceEvery;
    }
    auto chunk = feed_->stream->read(std::max(Duration::zero(), look - clock_.now()), stop);
    if (!chunk && chunk.error().code == ErrorCode::kTimeout) continue;  // the pace tells
    if (!chunk || !*chunk) {
      feed_.reset();
      if (!chunk) return in_context(fmt::format("list of {}", resource_.name), std::move(chunk.error()));
      return Ended{};
    }
    bytes += (*chunk)->size();
    read = feed_->events.feed(**chunk, on_line);
  }
  if (!complete || !read) feed_.reset();  // what else failed behind the mark, the watch will be told again
  if (complete) return Complete{*complete};
  if (!read) return read.error();
  if (bytes == 0) return Error{ErrorCode::kTimeout, fmt::format("list of {}: no byte within 30 s", resource_.name), {}};
  return Ignored{};
}

// Lines behind the mark of the end are those of the watch.
template <class T>
Result<> Reflector<T>::initial_line(std::string_view line, std::optional<ResourceVersion>& complete) {
  if (complete) return watch_line(line, *complete);
  NW_TRY_ASSIGN(auto event, read_event(line));
  if (!event) {
    sink_.unreadable(decoder_->who(line));
    return {};
  }
  const auto* mark = std::get_if<Bookmark>(&event->what);
  if (mark != nullptr && mark->initial_end) {
    complete = mark->version;
    end_list(mark->version);
    return {};
  }
  put(std::move(*event));
  return {};
}

// ---- a list in pages -------------------------------------------------------------------------------------------------

template <class T>
Happened Reflector<T>::step(PagedList&, const std::stop_token& stop) {
  sink_.list_begins();
  auto version = read_pages(stop);
  if (!version) return std::move(version.error());
  end_list(*version);
  return Complete{std::move(*version)};
}

template <class T>
Result<ResourceVersion> Reflector<T>::read_pages(const std::stop_token& stop) {
  PageCheck check;
  Page page;
  do {
    const std::string asked = std::move(page.meta.continue_token);
    NW_TRY_ASSIGN(page, read_page(asked, stop));
    if (auto sound = check.add(asked, page.meta.continue_token, std::move(page.first)); !sound) {
      return tl::unexpected(in_context(fmt::format("list of {}", resource_.name), std::move(sound.error())));
    }
  } while (!page.meta.continue_token.empty());
  return std::move(page.meta.version);
}

template <class T>
auto Reflector<T>::read_page(const std::string& continue_token, const std::stop_token& stop) -> Result<Page> {
  NW_TRY_ASSIGN(const auto opened, open(list_path(resource_, options_.page_size, continue_token), accept_list, stop));
  ListSplitter splitter(opened.encoding);
  Page page;
  const auto on_item = [&](std::string_view json) -> Result<> {
    list_item(json, page.first);
    return {};
  };
  while (true) {
    NW_TRY_ASSIGN(const auto chunk, opened.stream->read(options_.silence, stop));
    if (!chunk) break;
    NW_TRY(splitter.feed(*chunk, on_item));
  }
  if (!splitter.complete()) return fail(ErrorCode::kUnavailable, fmt::format("list of {}: the answer broke off", resource_.name));
  NW_TRY_ASSIGN(page.meta, splitter.meta());
  return page;
}

template <class T>
void Reflector<T>::list_item(std::string_view json, std::string& first) {
  Result<T> object = decoder_->object(json);
  if (!object) report_odd("an object cannot be read; what is known of it stays", object.error().message);
  if (object && first.empty()) first = who_is(*object);
  if (object) {
    sink_.apply(std::move(*object));
  } else {
    sink_.unreadable(decoder_->who(json));
  }
}

// ---- a watch ---------------------------------------------------------------------------------------------------------

template <class T>
Happened Reflector<T>::step(Watching& at, const std::stop_token& stop) {
  if (!feed_) {
    if (auto opened = open_feed(watch_path(resource_, at.from, watch_seconds_), stop); !opened) return opened.error();
    settle_in("");
  }
  turn_.opened = turn_.heard = clock_.now();
  turn_.ask = turn_.opened + options_.silence_in_doubt;
  const Duration patience = std::chrono::seconds(watch_seconds_) + options_.silence;
  Result<> read;
  bool more = true;
  while (read && more) {
    MonoTime until = turn_.heard + patience;
    if (!in_sight_) until = std::min(until, turn_.opened + options_.settling);
    if (at.doubted) until = std::min(until, turn_.ask);
    auto chunk = feed_->stream->read(std::max(Duration::zero(), until - clock_.now()), stop);
    const bool silent = !chunk && chunk.error().code == ErrorCode::kTimeout && clock_.now() < turn_.heard + patience;
    more = silent || (chunk && *chunk);
    if (!more) {
      read = feed_->events.finish([&](std::string_view line) { return watch_line(line, at.from); });
      if (read && !chunk) read = tl::unexpected(std::move(chunk.error()));
    } else {
      read = silent ? watch_silence(at, stop) : watch_chunk(at, **chunk);
      if (clock_.now() >= turn_.opened + options_.settling) see(true);
    }
  }
  feed_.reset();
  draw_watch_time();
  if (!read) return in_context(fmt::format("watch of {}", resource_.name), std::move(read.error()));
  return Ended{};
}

template <class T>
Result<> Reflector<T>::watch_chunk(Watching& at, std::string_view chunk) {
  turn_.heard = clock_.now();
  at.doubted = false;
  return feed_->events.feed(chunk, [&](std::string_view line) { return watch_line(line, at.from); });
}

template <class T>
Result<> Reflector<T>::watch_silence(Watching& at, const std::stop_token& stop) {
  if (!at.doubted || clock_.now() < turn_.ask) return {};
  auto known = ask_for_version(at, stop);
  turn_.ask = clock_.now() + options_.silence_in_doubt;
  return known;
}

// A server whose storage was restored from a backup takes a watch from a version that is yet to come, and keeps silent until it
// gets there. What it says to a list of that version tells. It may refuse to say; while it cannot, the doubt stays.
template <class T>
Result<> Reflector<T>::ask_for_version(Watching& at, const std::stop_token& stop) {
  const auto answer = client_.send(
      {.path = version_known_path(resource_, at.from), .headers = {{"Accept", accept_list(json_->detail(), Encoding::kJson)}}},
      stop);
  const auto refused = [](ErrorCode code) {
    return code == ErrorCode::kDenied || code == ErrorCode::kInvalid || code == ErrorCode::kNotFound;
  };
  if (answer || refused(answer.error().code)) at.doubted = false;
  if (answer || answer.error().code != ErrorCode::kGone) return {};
  return tl::unexpected(
      in_context("the API server does not know a version it gave us (restored from a backup?)", answer.error()));
}

template <class T>
Result<> Reflector<T>::watch_line(std::string_view line, ResourceVersion& from) {
  NW_TRY_ASSIGN(auto event, read_event(line));
  if (!event) return {};
  turn_.brought = true;
  if (!event->version.empty()) from = event->version;
  put(std::move(*event));
  return {};
}

// ---- both ------------------------------------------------------------------------------------------------------------

template <class T>
Result<> Reflector<T>::open_feed(const std::string& path, const std::stop_token& stop) {
  feed_.reset();
  NW_TRY_ASSIGN(auto opened, open(path, accept_object, stop));
  feed_ = Feed{.stream = std::move(opened.stream), .events = EventSplitter(opened.encoding)};
  return {};
}

// JSON stands in what is accepted, too, and the answer says which it is. A server that refuses even to be asked for protobuf (406
// or 415) is asked once more without, and after that never again.
template <class T>
auto Reflector<T>::open(const std::string& path, Accept accept, const std::stop_token& stop) -> Result<Opened> {
  const auto ask = [&](Encoding first) {
    return client_.open({.path = path, .headers = {{"Accept", accept(json_->detail(), first)}}}, stop);
  };
  auto stream = ask(ask_for_);
  if (!stream && stream.error().code == ErrorCode::kInvalid && ask_for_ == Encoding::kProtobuf) {
    if (auto plain = ask(Encoding::kJson)) {
      telemetry::info("the API server refuses to be asked for protobuf, reading JSON", {{"resource", resource_.name}});
      ask_for_ = Encoding::kJson;
      stream = std::move(plain);
    }
  }
  if (!stream) return tl::unexpected(std::move(stream.error()));
  const Encoding encoding = protobuf_ ? encoding_of((*stream)->header("content-type")) : Encoding::kJson;
  decoder_ = encoding == Encoding::kProtobuf ? protobuf_.get() : json_.get();
  return Opened{std::move(*stream), encoding};
}

template <class T>
void Reflector<T>::draw_watch_time() {
  std::uniform_int_distribution<long> between(std::chrono::seconds(options_.watch_least).count(),
                                              std::chrono::seconds(options_.watch_most).count());
  watch_seconds_ = static_cast<int>(between(random_));
}

// nullopt: it cannot be read. The server's ERROR event is an Error.
template <class T>
Result<std::optional<WatchEvent<T>>> Reflector<T>::read_event(std::string_view line) {
  Result<WatchEvent<T>> event = decoder_->event(line);
  if (!event) {
    report_odd("an object cannot be read; what is known of it stays", event.error().message);
    return std::optional<WatchEvent<T>>{};
  }
  if (auto* failed = std::get_if<WatchFailed>(&event->what)) return tl::unexpected(std::move(failed->error));
  return std::optional(std::move(*event));
}

template <class T>
void Reflector<T>::put(WatchEvent<T> event) {
  std::visit(Overload{[&](Applied<T>& applied) { sink_.apply(std::move(applied.object)); },
                      [&](Deleted<T>& deleted) { sink_.remove(deleted.last); }, [](const Bookmark&) {}, [](const WatchFailed&) {},
                      [&](const UnknownEvent& unknown) { report_odd("a watch event of unknown type is ignored", unknown.type); }},
             event.what);
}

template <class T>
void Reflector<T>::end_list(const ResourceVersion& version) {
  sink_.list_ends(version);
  lists_.push_back(clock_.now());
  synced_ = true;
  settle_in("");
  options_.on_list();
  see(true);
  malloc_trim(0);  // the buffers of a list are megabytes that nobody needs until the next one
}

// One odd object must not hide the other thousands: it is left out and named. A flood of them must not fill the log: of more
// than one in ten seconds the next line tells the number.
template <class T>
void Reflector<T>::report_odd(std::string_view what, const std::string& why) {
  const MonoTime now = clock_.now();
  if (odd_again_ && now < *odd_again_) {
    ++odd_unsaid_;
    return;
  }
  telemetry::warn(what,
                  {{"resource", resource_.name}, {"error", why}, {"more_before", std::to_string(std::exchange(odd_unsaid_, 0))}});
  odd_again_ = now + kOddNewsEvery;
}

// Says what is wrong once, and once when it is well again.
template <class T>
void Reflector<T>::settle_in(const std::string& trouble) {
  const std::string before = trouble_.with([&](std::string& text) { return std::exchange(text, trouble); });
  if (before == trouble) return;
  if (!trouble.empty()) {
    telemetry::warn("cannot read from the API server, trying again", {{"resource", resource_.name}, {"error", trouble}});
  } else {
    telemetry::info("reading from the API server again", {{"resource", resource_.name}});
  }
}

template <class T>
void Reflector<T>::see(bool in_sight) {
  if (!in_sight_.exchange(in_sight) && in_sight) options_.on_sight();
}

template <class T>
Duration Reflector<T>::list_wait() {
  const auto most = static_cast<std::size_t>(options_.lists_per_minute);
  if (lists_.size() > most) lists_.erase(lists_.begin(), lists_.end() - static_cast<std::ptrdiff_t>(most));
  if (lists_.size() < most) return Duration::zero();
  return std::max(Duration::zero(), lists_.front() + 60s - clock_.now());
}

template class Reflector<Node>;
template class Reflector<Pod>;

}  // namespace nodeward::kube
