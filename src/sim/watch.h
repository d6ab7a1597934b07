// The body of one watch: what is there already, then each change, translated for a selector, with bookmarks; until it times out
// or falls behind what the store remembers. The bytes of an event are made once for all watches of whole objects. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/forms.h"
#include "sim/selector.h"
#include "sim/store.h"
#include "sim/wire/server.h"

namespace nodeward::sim {

struct WatchPlan {
  Selector selector;
  std::string space;                              // empty: all namespaces
  Form form;
  std::vector<Doc> initial = {};                  // sent first, as ADDED
  std::uint64_t version = 0;                      // of `initial`; changes after it follow
  bool end_initial = false;                       // a bookmark says that `initial` is complete
  std::uint64_t from = 0;                         // the number of the first change to send
  std::uint64_t after = 0;                        // a version, maybe yet to come: nothing older is sent
};

class Watch final : public wire::Body, public ChangeListener {
 public:
  // `exchange` is woken when there is more; not held, because it holds this.
  Watch(Shelf& shelf, WatchPlan plan, std::weak_ptr<wire::Exchange> exchange);
  ~Watch() override;

  More fill(std::string& out, std::size_t room) override;
  void changed() override { wake(); }
  void bookmark(std::uint64_t version);           // says that all up to it has been sent
  void end();
  // For timers: null once the watch is gone.
  std::weak_ptr<Watch*> self() const { return self_; }

 private:
  void wake();
  bool fill_initial(std::string& out, std::size_t end);
  bool fill_changes(std::string& out, std::size_t end);
  void write_change(std::string& out, std::uint64_t number) const;
  void write_whole(std::string& out, std::uint64_t number) const;
  bool wanted(const Doc& object) const;
  void write_bookmark(std::string& out, std::uint64_t version, bool ends_initial) const;

  Shelf& shelf_;
  WatchPlan plan_;
  std::weak_ptr<wire::Exchange> exchange_;
  std::shared_ptr<Watch*> self_ = std::make_shared<Watch*>(this);
  std::size_t sent_initial_ = 0;
  std::uint64_t next_ = 0;                        // number of the next change
  std::uint64_t bookmark_ = 0;                    // due, once all before it is sent; 0: none
  bool ended_ = false;
  bool idle_ = false;                             // said kLater and was not woken since
};

// What a watch that asks for a forgotten version gets: one ERROR event, then the end.
std::string expired_event(std::uint64_t asked, std::uint64_t oldest);

}  // namespace nodeward::sim
