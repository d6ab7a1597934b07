#include "kube/reflector.h"

#include <fmt/format.h>
#include <malloc.h>

#include <functional>

#include "kube/splitters.h"
#include "telemetry/log.h"

namespace nodeward::kube {
namespace {

constexpr Duration kOddNewsEvery = 10s;

std::string selector_of(const Resource& resource) {
  return resource.label_selector.empty() ? "" : "&labelSelector=" + url_encoded(resource.label_selector);
}

}  // namespace

Phase after_failure(const Phase& at, const Error& error) {
  if (error.code == ErrorCode::kGone) return Listing{};
  return at;
}

std::string list_path(const Resource& resource, int page_size, const std::string& continue_token) {
  return fmt::format("{}?limit={}{}{}", resource.path, page_size, selector_of(resource),
                     continue_token.empty() ? "" : "&continue=" + url_encoded(continue_token));
}

std::string watch_path(const Resource& resource, const ResourceVersion& from, int seconds) {
  return fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}{}", resource.path,
                     url_encoded(from.str()), seconds, selector_of(resource));
}

template <class T>
Reflector<T>::Reflector(Client& client, Resource resource, std::unique_ptr<Decoder<T>> decoder, Sink<T>& sink, Clock& clock,
                        ReflectorOptions options)
    : client_(client), resource_(std::move(resource)), decoder_(std::move(decoder)), sink_(sink), clock_(clock), options_(std::move(options)) {}

template <class T>
void Reflector<T>::run(const std::stop_token& stop) {
  Phase phase = Listing{};
  int failures = 0;
  const std::uint64_t seed = std::hash<std::string>{}(resource_.name);
  while (!stop.stop_requested()) {
    if (std::holds_alternative<Listing>(phase) && !clock_.sleep_for(list_wait(), stop)) return;
    heard_ = false;
    const MonoTime began = clock_.now();
    Result<Phase> next = std::visit([&](auto& at) { return step(at, stop); }, phase);
    if (stop.stop_requested()) return;
    const bool listed = std::holds_alternative<Listing>(phase);
    if (!next) settle_in(next.error().message);
    const bool gone = !next && next.error().code == ErrorCode::kGone;
    phase = next ? std::move(*next) : after_failure(phase, next.error());
    if (listed && std::holds_alternative<Watching>(phase)) continue;
    if (gone && !listed) continue;                               // list_wait() keeps that from turning hot
    // A watch may end at any time. One that ends as soon as it is there, whatever it brought, is a failure of the server's: as
    // with one that is refused, each asks for a longer wait.
    if (heard_ && clock_.now() - began >= options_.sound_watch) failures = 0;
    const Duration asked = next ? Duration::zero() : next.error().retry_after.value_or(0ms);
    if (!clock_.sleep_for(std::max(asked, backoff_delay(options_.backoff, ++failures, seed)), stop)) return;
  }
}

template <class T>
Result<Phase> Reflector<T>::step(const Listing&, const std::stop_token& stop) {
  sink_.list_begins();
  ListMeta meta;
  do {
    const std::string page = std::move(meta.continue_token);
    NW_TRY_ASSIGN(meta, read_page(page, stop));
    if (!page.empty() && meta.continue_token == page) {
      return fail(ErrorCode::kInvalid, fmt::format("list of {}: a page names itself as the next one", resource_.name));
    }
  } while (!meta.continue_token.empty());
  sink_.list_ends(meta.version);
  lists_.push_back(clock_.now());
  synced_ = true;
  settle_in("");
  options_.on_list();
  malloc_trim(0);   // the buffers of a list are megabytes that nobody needs until the next one
  return Phase{Watching{meta.version}};
}

template <class T>
Result<ListMeta> Reflector<T>::read_page(const std::string& continue_token, const std::stop_token& stop) {
  net::Request request{.path = list_path(resource_, options_.page_size, continue_token),
                       .headers = {{"Accept", std::string(accept_list(decoder_->detail()))}}};
  NW_TRY_ASSIGN(const auto stream, client_.open(std::move(request), stop));
  ItemSplitter splitter;
  const auto on_item = [&](std::string_view json) -> Result<> {
    Result<T> object = decoder_->object(json);
    if (!object) {
      report_odd("an object cannot be read and is left out", object.error().message);
      return {};
    }
    sink_.apply(std::move(*object));
    return {};
  };
  while (true) {
    NW_TRY_ASSIGN(const auto chunk, stream->read(options_.silence, stop));
    if (!chunk) break;
    NW_TRY(splitter.feed(*chunk, on_item));
  }
  if (!splitter.complete()) return fail(ErrorCode::kUnavailable, fmt::format("list of {}: the answer broke off", resource_.name));
  return decode_list_meta(splitter.envelope());
}

template <class T>
Result<Phase> Reflector<T>::step(Watching& at, const std::stop_token& stop) {
  net::Request request{.path = watch_path(resource_, at.from, options_.watch_seconds),
                       .headers = {{"Accept", std::string(accept_object(decoder_->detail()))}}};
  NW_TRY_ASSIGN(const auto stream, client_.open(std::move(request), stop));
  settle_in("");
  LineSplitter splitter;
  while (true) {
    NW_TRY_ASSIGN(const auto chunk, stream->read(std::chrono::seconds(options_.watch_seconds) + options_.silence, stop));
    if (!chunk) return Phase{at};
    NW_TRY(splitter.feed(*chunk, [&](std::string_view line) { return take(at, line); }));
  }
}

template <class T>
Result<> Reflector<T>::take(Watching& at, std::string_view line) {
  Result<WatchEvent<T>> event = decoder_->event(line);
  if (!event) {
    report_odd("an object cannot be read and is left out", event.error().message);
    return {};
  }
  if (auto* failed = std::get_if<WatchFailed>(&event->what)) {
    return tl::unexpected(in_context(fmt::format("watch of {}", resource_.name), std::move(failed->error)));
  }
  heard_ = true;
  if (auto* applied = std::get_if<Applied<T>>(&event->what)) sink_.apply(std::move(applied->object));
  if (auto* deleted = std::get_if<Deleted<T>>(&event->what)) sink_.remove(deleted->last);
  if (auto* unknown = std::get_if<UnknownEvent>(&event->what)) {
    report_odd("a watch event of unknown type is ignored", unknown->type);
  }
  if (!event->version.empty()) at.from = event->version;
  return {};
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
  telemetry::warn(what, {{"resource", resource_.name}, {"error", why}, {"more_before", std::to_string(std::exchange(odd_unsaid_, 0))}});
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
Duration Reflector<T>::list_wait() {
  const auto most = static_cast<std::size_t>(options_.lists_per_minute);
  if (lists_.size() > most) lists_.erase(lists_.begin(), lists_.end() - static_cast<std::ptrdiff_t>(most));
  if (lists_.size() < most) return Duration::zero();
  return std::max(Duration::zero(), lists_.front() + 60s - clock_.now());
}

template class Reflector<Node>;
template class Reflector<Pod>;

}  // namespace nodeward::kube
