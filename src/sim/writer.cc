#include "sim/writer.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sim/forms.h"
#include "sim/validate.h"

namespace nodeward::sim {
namespace {

std::string key_of(const Writer::Where& where) { return object_key(where.space, where.name); }
std::string_view name_of(const Doc& object) { return object.at({"metadata", "name"}).text(); }

std::string text_or_default(std::string_view text, std::string_view otherwise) {
  return std::string(text.empty() ? otherwise : text);
}

// A body of another kind: the real server tries to convert it, and says how that went.
std::optional<std::string> conversion_error(const Resource& resource, const Doc& object) {
  const std::string_view kind = object.at("kind").text();
  const std::string_view version = object.at("apiVersion").text();
  const bool same_version = version.empty() || version == resource.group_version();
  if ((kind.empty() || kind == resource.kind) && same_version) return std::nullopt;
  if (same_version && find_kind(resource.group_version(), kind) != nullptr) {
    return fmt::format("converting ({}.{}) to (core.{}): unknown conversion", resource.version, kind, resource.kind);
  }
  return fmt::format(R"(no kind "{}" is registered for version "{}" in scheme "pkg/runtime/scheme.go:111")", kind, version);
}

Answered<> check_name(const Writer::Where& where, const Doc& object) {
  const std::string_view name = name_of(object);
  if (name.empty()) {
    return tl::unexpected(bad_request(
        fmt::format("the name of the object ({} based on URL) was undeterminable: name must be provided", where.name)));
  }
  if (name != where.name) {
    return tl::unexpected(
        bad_request(fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, where.name)));
  }
  return {};
}

Answered<> check_space(const Writer::Where& where, const Doc& object) {
  const std::string_view space = object.at({"metadata", "namespace"}).text();
  if (!where.resource.namespaced || space.empty() || space == where.space) return {};
  return tl::unexpected(bad_request("the namespace of the provided object does not match the namespace sent on the request"));
}

// The version that the new object names, against the one it would replace.
Answered<> check_version(const Writer::Where& where, const Doc& before, const Doc& object) {
  const std::string_view text = object.at({"metadata", "resourceVersion"}).text();
  const auto version = parse_version(text);
  if (!version) return tl::unexpected(version.error());
  if (*version == 0) {
    if (where.resource.unconditional_update) return {};
    Failure failure = invalid(
        where.resource.group, where.resource.plural, where.name,
        {{"FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion"}});
    return tl::unexpected(std::move(failure));
  }
  if (text != before.at({"metadata", "resourceVersion"}).text()) return tl::unexpected(conflict(where.resource, where.name));
  return {};
}

// What no update changes, and what belongs to the other half of the object.
Doc keep_identity(const Writer::Where& where, const Doc& before, Doc object) {
  const Doc& old = before.at("metadata");
  const auto keep = [&](std::string_view member) {
    if (!(object.at({"metadata", member}) == old.at(member))) object = object.with({"metadata", member}, old.at(member));
  };
  for (const std::string_view member : {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                                        "generation", "namespace", "generateName", "resourceVersion"}) {
    keep(member);
  }
  for (const std::string_view member : {"apiVersion", "kind"}) {
    if (!(object.at(member) == before.at(member))) object = object.with(member, before.at(member));
  }
  if (!where.resource.has_status) return object;
  const std::string_view foreign = where.status ? "spec" : "status";
  if (!object.at(foreign).same(before.at(foreign))) object = object.with(foreign, before.at(foreign));
  return object;
}

Failure not_a_patch_result(const Doc& patched, std::string_view why) {
  return invalid("", "", "",
                 {{"FieldValueInvalid", fmt::format("Invalid value: {}: {}", json_quoted(patched.json_text()), why), "patch"}});
}

Answered<> check_preconditions(const Writer::Where& where, const Doc& object, const Json& options) {
  if (!options.is_object() || !options.contains("preconditions")) return {};
  const Json& wanted = options["preconditions"];
  const auto refused = [&](std::string_view what, std::string_view wants, std::string_view has, std::string_view why) {
    Failure failure = conflict(where.resource, where.name);
    failure.message = fmt::format(
        "Operation cannot be fulfilled on {} \"{}\": the {} in the precondition ({}) does not match the {} in record ({}). The "
        "object might have been {}",
        where.resource.kind, where.name, what, wants, what, has, why);
    failure.details["kind"] = where.resource.kind;
    return tl::unexpected(std::move(failure));
  };
  const std::string_view uid = object.at({"metadata", "uid"}).text();
  const std::string_view version = object.at({"metadata", "resourceVersion"}).text();
  if (const std::string want = text_at(wanted, "uid"); !want.empty() && want != uid) {
    return refused("UID", want, uid, "deleted and then recreated");
  }
  if (const std::string want = text_at(wanted, "resourceVersion"); !want.empty() && want != version) {
    return refused("ResourceVersion", want, version, "modified");
  }
  return {};
}

}  // namespace

std::string Writer::new_uid() {
  const std::uint64_t high = (random_() & ~0xf000ULL) | 0x4000;                         // version 4
  const std::uint64_t low = (random_() & ~(3ULL << 62)) | (2ULL << 62);                 // RFC 4122's variant
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffff);
}

std::string Writer::generated_name(std::string_view prefix) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string name(prefix);
  for (int i = 0; i < 5; ++i) name += kLetters[random_() % kLetters.size()];
  return name;
}

// A body as a document of this resource, in the form in which it is stored.
Answered<Doc> Writer::read(const Where& where, const Json& body) const {
  const Resource& resource = where.resource;
  const Doc object = Doc::from(body);
  auto wrong = conversion_error(resource, object);
  if (!wrong) wrong = wrong_type(resource, object, {});
  if (wrong) {
    return tl::unexpected(bad_request(fmt::format(
        "{} in version \"{}\" cannot be handled as a {}: {}", text_or_default(object.at("kind").text(), resource.kind),
        text_or_default(object.at("apiVersion").text(), resource.group_version()), resource.kind, *wrong)));
  }
  if (auto good = check_space(where, object); !good) return tl::unexpected(good.error());
  Doc read = as_stored(resource, object).with("kind", Doc::string(resource.kind));
  read = read.with("apiVersion", Doc::string(stored_as(resource).group_version()));
  if (resource.namespaced)
    read = read.with({"metadata", "namespace"}, Doc::string(where.space));
  else
    read = read.with("metadata", read.at("metadata").without("namespace"));
  return read;
}

Doc Writer::with_defaults(const Resource& resource, Doc object) {
  const auto fill = [&](Doc::Path path, const Json& value) {
    if (object.at(path).is_null()) object = object.with(path, Doc::from(value));
  };
  fill({"metadata", "uid"}, new_uid());
  fill({"metadata", "creationTimestamp"}, time_text());
  const bool numbers_specs = resource.kind == "Pod" || resource.kind == "DaemonSet" || resource.kind == "ResourceSlice";
  if (numbers_specs) fill({"metadata", "generation"}, 1);
  if (resource.kind == "Pod") fill({"status", "phase"}, "Pending");
  if (resource.kind == "Namespace") {
    fill({"metadata", "labels", "kubernetes.io/metadata.name"}, std::string(name_of(object)));
    fill({"spec", "finalizers"}, Json::array({"kubernetes"}));
    fill({"status", "phase"}, "Active");
  }
  return normalised(resource, std::move(object), {});
}

Answered<Doc> Writer::create(const Where& where, const Json& body) {
  const Resource& resource = where.resource;
  auto read = this->read(where, body);
  if (!read) return read;
  Doc object = std::move(*read);
  if (!object.at({"metadata", "resourceVersion"}).text().empty()) {
    return tl::unexpected(internal_error("resourceVersion should not be set on objects to be created"));
  }
  const std::string_view prefix = object.at({"metadata", "generateName"}).text();
  if (name_of(object).empty() && !prefix.empty()) {
    object = object.with({"metadata", "name"}, Doc::string(generated_name(prefix)));
  }
  for (const std::string_view given : {"uid", "creationTimestamp", "deletionTimestamp", "generation"}) {
    if (!object.at({"metadata", given}).is_null()) object = object.with("metadata", object.at("metadata").without(given));
  }
  // A node comes with its status, as kubelets send it; the status of the others is made by controllers.
  if (resource.has_status && resource.kind != "Node") object = object.without("status");
  object = with_defaults(resource, std::move(object));
  if (const Causes causes = check_new(resource, object); !causes.empty()) {
    return tl::unexpected(invalid(resource, name_of(object), causes));
  }
  const std::string key = object_key(where.space, name_of(object));
  if (store_.find(resource, key) != nullptr) return tl::unexpected(already_exists(resource, name_of(object)));
  if (where.dry_run) return object;
  return put(resource, key, object);
}

Answered<Writer::Written> Writer::update(const Where& where, const Json& body) {
  auto read = this->read(where, body);
  if (!read) return tl::unexpected(std::move(read.error()));
  if (auto good = check_name(where, *read); !good) return tl::unexpected(good.error());
  const Doc* found = store_.find(where.resource, key_of(where));
  if (found == nullptr) {
    if (!where.resource.create_on_update || where.status) return tl::unexpected(not_found(where.resource, where.name));
    return create(where, body).map([](Doc object) { return Written{std::move(object), true}; });
  }
  const Doc before = *found;
  if (auto good = check_version(where, before, *read); !good) return tl::unexpected(good.error());
  const std::string_view uid = read->at({"metadata", "uid"}).text();
  const std::string_view kept = before.at({"metadata", "uid"}).text();
  if (!uid.empty() && uid != kept) {
    return tl::unexpected(conflict(
        where.resource, where.name,
        fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: "
                    "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                    where.resource.kind == "Node" ? "minions" : where.resource.plural, key_of(where), uid, kept)));
  }
  const Doc shared = Doc::from(read->json(), before);       // what is equal to the stored object is not checked again
  return replace(where, before, shared).map([](Doc object) { return Written{std::move(object), false}; });
}

Answered<Doc> Writer::patch(const Where& where, PatchKind kind, const std::string& body) {
  const Resource& resource = where.resource;
  const Doc* found = store_.find(resource, key_of(where));
  if (found == nullptr) return tl::unexpected(not_found(resource, where.name));
  const Doc before = *found;
  const Form form = Form::whole(resource, clock_);
  const Doc shown = form.shown(before);
  auto patched = apply_patch(kind, shown, body);
  if (!patched) return patched;
  Doc object = as_stored(resource, *patched);
  if (object.same(before)) return before;
  const bool same_kind = patched->at("kind").same(shown.at("kind")) && patched->at("apiVersion").same(shown.at("apiVersion"));
  auto wrong = same_kind ? std::nullopt : conversion_error(resource, *patched);
  if (!wrong) wrong = wrong_type(resource, object, before);
  if (wrong) return tl::unexpected(not_a_patch_result(object, *wrong));
  if (auto good = check_name(where, object); !good) return tl::unexpected(good.error());
  if (auto good = check_space(where, object); !good) return tl::unexpected(good.error());
  if (auto good = check_version(where, before, object); !good && !object.at({"metadata", "resourceVersion"}).text().empty()) {
    return tl::unexpected(good.error());
  }
  for (const std::string_view member : {"uid", "deletionTimestamp"}) {
    const std::string_view value = object.at({"metadata", member}).text();
    if (value.empty() || value == before.at({"metadata", member}).text()) continue;
    const Cause cause{"FieldValueInvalid", fmt::format("Invalid value: {}: field is immutable", json_quoted(value)),
                      fmt::format("metadata.{}", member)};
    return tl::unexpected(invalid(resource, where.name, {cause, cause}));
  }
  return replace(where, before, std::move(object));
}

Answered<Doc> Writer::replace(const Where& where, const Doc& before, Doc object) {
  const Resource& resource = where.resource;
  object = normalised(resource, keep_identity(where, before, std::move(object)), before);
  if (const Causes causes = check_update(resource, object, before); !causes.empty()) {
    return tl::unexpected(invalid(resource, where.name, causes));
  }
  if (object == before) return before;
  if (resource.kind != "Pod" && !before.at({"metadata", "generation"}).is_null() && !(object.at("spec") == before.at("spec"))) {
    const auto generation = parse_int(before.at({"metadata", "generation"}).text()).value_or(0);
    object = object.with({"metadata", "generation"}, Doc::from(Json(generation + 1)));
  }
  if (where.dry_run) return object;
  const bool released = !object.at({"metadata", "deletionTimestamp"}).is_null() &&
                        object.at({"metadata", "finalizers"}).is_null();
  if (released) {
    store_.remove(resource, key_of(where));
    return object;
  }
  return put(resource, key_of(where), object);
}

// Refuses what etcd would not take. It measures protobuf, which is shorter than the JSON text that is measured here.
Answered<Doc> Writer::put(const Resource& resource, const std::string& key, const Doc& object) {
  constexpr std::size_t kMostStored = 3UL << 19;  // bytes: etcd's 1.5 MiB
  text_.clear();
  object.write(text_);
  if (text_.size() > kMostStored) return tl::unexpected(internal_error("etcdserver: request is too large"));
  return store_.put(resource, key, object);
}

Answered<Doc> Writer::remove(const Where& where, const Json& options) {
  const Resource& resource = where.resource;
  const Doc* found = store_.find(resource, key_of(where));
  if (found == nullptr) return tl::unexpected(not_found(resource, where.name));
  if (auto good = check_preconditions(where, *found, options); !good) return tl::unexpected(good.error());
  const Doc before = *found;
  if (where.dry_run) return before;
  const Doc marked = before.with({"metadata", "deletionTimestamp"}, Doc::string(time_text()))
                         .with({"metadata", "deletionGracePeriodSeconds"}, Doc::from(Json(0)));
  if (!before.at({"metadata", "finalizers"}).is_null()) {
    return before.at({"metadata", "deletionTimestamp"}).is_null() ? store_.put(resource, key_of(where), marked) : before;
  }
  const Doc last = store_.remove(resource, key_of(where));
  if (resource.kind == "Namespace") {             // there is no controller that would empty it
    for (const Resource& row : resources()) {
      if (!row.namespaced || !row.renames.empty()) continue;
      const auto inside = store_.list(row, {.space = std::string(where.name)});
      for (const Doc& object : inside->objects) store_.remove(row, object_key(where.name, name_of(object)));
    }
  }
  if (resource.kind != "Pod" && resource.kind != "Namespace") return last;       // the others go without a grace period
  Doc shown = last.with({"metadata", "deletionTimestamp"}, Doc::string(time_text()));
  if (resource.kind == "Pod") shown = shown.with({"metadata", "deletionGracePeriodSeconds"}, Doc::from(Json(0)));
  if (resource.kind == "Namespace") shown = shown.with({"status", "phase"}, Doc::string("Terminating"));
  return shown;
}

Answered<Doc> Writer::load(const Resource& resource, Doc object) {
  if (const auto wrong = wrong_type(resource, object, {})) return tl::unexpected(bad_request(*wrong));
  const Resource& row = stored_as(resource);
  object = as_stored(resource, object);
  object = object.with("apiVersion", Doc::string(row.group_version())).with("kind", Doc::string(row.kind));
  if (row.namespaced && object.at({"metadata", "namespace"}).text().empty()) {
    object = object.with({"metadata", "namespace"}, Doc::string("default"));
  }
  object = with_defaults(row, std::move(object));
  if (const Causes causes = check_new(row, object); !causes.empty()) return tl::unexpected(invalid(row, name_of(object), causes));
  const std::string key = object_key(object.at({"metadata", "namespace"}).text(), name_of(object));
  return store_.put(row, key, object);
}

}  // namespace nodeward::sim
