#include "sim/watch.h"

#include <fmt/format.h>

namespace nodeward::sim {
namespace {

void open_event(std::string& out, std::string_view type) {
  out += R"({"type":")";
  out += type;
  out += R"(","object":)";
}

}  // namespace

Watch::Watch(Shelf& shelf, WatchPlan plan, std::weak_ptr<wire::Exchange> exchange)
    : shelf_(shelf), plan_(std::move(plan)), exchange_(std::move(exchange)), next_(plan_.from) {
  shelf_.listen(this);
}

Watch::~Watch() { shelf_.unlisten(this); }

void Watch::wake() {
  if (!idle_) return;                             // fill() will be called anyway
  idle_ = false;
  if (const auto exchange = exchange_.lock()) exchange->wake();
}

void Watch::bookmark(std::uint64_t version) {
  if (version < plan_.after) return;
  bookmark_ = version;
  wake();
}

void Watch::end() {
  ended_ = true;
  wake();
}

wire::Body::More Watch::fill(std::string& out, std::size_t room) {
  const std::size_t end = out.size() + room;
  if (ended_ || next_ < shelf_.first_change()) return More::kEnd;     // too slow: the client resumes, and is told 410
  if (!fill_initial(out, end) || !fill_changes(out, end)) return More::kYes;
  if (bookmark_ != 0) write_bookmark(out, std::exchange(bookmark_, 0), false);
  idle_ = true;
  return More::kLater;
}

// False: there is more than fits.
bool Watch::fill_initial(std::string& out, std::size_t end) {
  while (sent_initial_ < plan_.initial.size()) {
    if (out.size() >= end) return false;
    open_event(out, "ADDED");
    plan_.form.write(out, plan_.initial[sent_initial_++]);
    out += "}\n";
  }
  plan_.initial.clear();
  sent_initial_ = 0;
  if (std::exchange(plan_.end_initial, false)) write_bookmark(out, plan_.version, true);
  return true;
}

bool Watch::fill_changes(std::string& out, std::size_t end) {
  for (; next_ < shelf_.end_change(); ++next_) {
    if (out.size() >= end) return false;
    write_change(out, next_);
  }
  return true;
}

bool Watch::wanted(const Doc& object) const {
  if (object.is_null()) return false;
  if (!plan_.space.empty() && object.at({"metadata", "namespace"}).text() != plan_.space) return false;
  return plan_.selector.matches(object);
}

void Watch::write_change(std::string& out, std::uint64_t number) const {
  const Change& change = shelf_.change(number);
  if (change.version <= plan_.after) return;
  const bool was = wanted(change.before);
  const bool is = !change.deleted && wanted(change.after);
  if (!was && !is) return;
  open_event(out, !is ? "DELETED" : was ? "MODIFIED" : "ADDED");
  if (!is && !change.deleted) {                   // it no longer matches: as it was, with the version of the change
    plan_.form.write(out, change.before.with({"metadata", "resourceVersion"}, change.after.at({"metadata", "resourceVersion"})));
  } else if (plan_.form.is_whole()) {
    write_whole(out, number);
  } else {
    plan_.form.write(out, change.after);
  }
  out += "}\n";
}

void Watch::write_whole(std::string& out, std::uint64_t number) const {
  Change& change = shelf_.change(number);
  if (change.text != nullptr) {
    out += *change.text;
    return;
  }
  const std::size_t start = out.size();
  change.after.write(out);
  constexpr std::size_t kWorthSharing = 64UL << 10;    // bytes; longer texts are made for each watch, so that few are kept
  if (shelf_.keeps_text(number) && out.size() - start <= kWorthSharing)
    change.text = std::make_shared<const std::string>(out, start);
}

void Watch::write_bookmark(std::string& out, std::uint64_t version, bool ends_initial) const {
  open_event(out, "BOOKMARK");
  plan_.form.write_bookmark(out, version, ends_initial);
  out += "}\n";
}

std::string expired_event(std::uint64_t asked, std::uint64_t oldest) {
  std::string out;
  open_event(out, "ERROR");
  out += to_text(expired(fmt::format("too old resource version: {} ({})", asked, oldest)).status());
  out += "}\n";
  return out;
}

}  // namespace nodeward::sim
