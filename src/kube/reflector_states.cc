// The pure part of the reflector: which state follows, and what is asked for in it.
#include <fmt/format.h>

#include <algorithm>

#include "base/overload.h"
#include "kube/reflector.h"

namespace nodeward::kube {
namespace {

constexpr int kMostCuts = 2;               // then the list is read in pages, which can be had in parts
constexpr int kMostEmptyPages = 100;

std::string selector_of(const Resource& resource) {
  return resource.label_selector.empty() ? "" : "&labelSelector=" + url_encoded(resource.label_selector);
}

// The server has not said a word about the list: the same again.
bool says_nothing_of_the_list(ErrorCode code) {
  switch (code) {
    case ErrorCode::kThrottled:
    case ErrorCode::kUnreachable:
    case ErrorCode::kUnauthorized:
    case ErrorCode::kDenied:
    case ErrorCode::kNotFound:
    case ErrorCode::kCancelled: return true;
    default: return false;
  }
}

Next after_cut(const StreamingList& at, bool streaming) {
  if (at.cuts + 1 >= kMostCuts) return {PagedList{}, streaming};
  return {StreamingList{at.cuts + 1}, streaming};
}

Next after(const StreamingList& at, const Happened& what, bool streaming) {
  const Next paged_for_good{PagedList{}, false, true};
  return std::visit(
      Overload{[&](const Complete& all) {
                 return Next{Watching{all.version}, streaming, true};
               },
               [&](const Ended&) { return after_cut(at, streaming); }, [&](const Ignored&) { return paged_for_good; },
               [&](const Error& error) {
                 if (error.code == ErrorCode::kInvalid) return paged_for_good;        // 400, 422
                 if (says_nothing_of_the_list(error.code)) return Next{at, streaming};
                 return after_cut(at, streaming);
               }},
      what);
}

Next after(const PagedList& at, const Happened& what, bool streaming) {
  if (const auto* all = std::get_if<Complete>(&what)) return {Watching{all->version}, streaming, true};
  return {at, streaming};
}

// Our version was compacted, or is yet to come: start over. Else the same place again, and nothing is missed.
Next after(const Watching& at, const Happened& what, bool streaming) {
  const auto* error = std::get_if<Error>(&what);
  if (error != nullptr && error->code == ErrorCode::kGone) return {first_phase(streaming), streaming, true};
  return {Watching{.from = at.from, .doubted = true}, streaming};
}

}  // namespace

Phase first_phase(bool streaming) { return streaming ? Phase{StreamingList{}} : Phase{PagedList{}}; }

Next after(const Phase& at, const Happened& what, bool streaming) {
  return std::visit([&](const auto& phase) { return after(phase, what, streaming); }, at);
}

std::string streaming_list_path(const Resource& resource, int seconds) {
  return fmt::format(
      "{}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds={}{}",
      resource.path, seconds, selector_of(resource));
}

std::string list_path(const Resource& resource, int page_size, const std::string& continue_token) {
  return fmt::format("{}?limit={}{}{}", resource.path, page_size, selector_of(resource),
                     continue_token.empty() ? "" : "&continue=" + url_encoded(continue_token));
}

std::string watch_path(const Resource& resource, const ResourceVersion& from, int seconds) {
  return fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}{}", resource.path,
                     url_encoded(from.str()), seconds, selector_of(resource));
}

// NotOlderThan, because a server takes a limit and a version without it for that very version, which may be compacted.
std::string version_known_path(const Resource& resource, const ResourceVersion& from) {
  return fmt::format("{}?limit=1&resourceVersion={}&resourceVersionMatch=NotOlderThan{}", resource.path, url_encoded(from.str()),
                     selector_of(resource));
}

Result<> PageCheck::add(const std::string& asked_token, const std::string& next_token, std::string first) {
  if (next_token.empty()) return {};
  if (next_token == asked_token) return fail(ErrorCode::kInvalid, "a page names itself as the next one");
  empty_ = first.empty() ? empty_ + 1 : 0;
  if (empty_ >= kMostEmptyPages) return fail(ErrorCode::kInvalid, fmt::format("{} pages in a row are empty", empty_));
  if (first.empty() || firsts_.insert(std::move(first)).second) return {};
  return fail(ErrorCode::kInvalid, "a page comes twice");
}

}  // namespace nodeward::kube
