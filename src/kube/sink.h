// Where a reflector puts what it reads. One reflector owns the writing end; a sink is called from that reflector's thread only
// and must not block.
//   a list:  list_begins(), apply() for each object, list_ends(version)   - what was not applied in between is gone
//   a watch: apply() for ADDED and MODIFIED, remove() for DELETED
// A list that breaks off is begun again; until list_ends() nothing counts as gone. A streaming list may hold a remove(), for what
// goes while it is being read. A version lower than one seen before (compare() in objects.h) is that of a restored etcd.
#pragma once

#include "kube/objects.h"

namespace nodeward::kube {

template <class T>
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void list_begins() = 0;
  virtual void apply(T object) = 0;
  virtual void remove(const T& last) = 0;
  // In a list: an object that is there but cannot be read. Only its name and uid are set, as far as they can be told. What is
  // held of it stays; where not even the name is known, nothing is gone after this list.
  virtual void unreadable(const T& who) = 0;
  virtual void list_ends(const ResourceVersion& version) = 0;
};

}  // namespace nodeward::kube
