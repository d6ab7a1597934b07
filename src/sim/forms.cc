#include "sim/forms.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "sim/path.h"
#include "sim/table.h"

namespace nodeward::sim {
namespace {

constexpr std::string_view kMetaVersion = "meta.k8s.io/v1";

Doc metadata_only(const Doc& object) {
  Doc::Members members;
  members.emplace_back(Doc::string("apiVersion"), Doc::string(kMetaVersion));
  members.emplace_back(Doc::string("kind"), Doc::string("PartialObjectMetadata"));
  members.emplace_back(Doc::string("metadata"), object.at("metadata"));
  return Doc::object(std::move(members));
}

// One entry of an Accept header: "application/json;as=Table;v=v1;g=meta.k8s.io".
struct MediaType {
  std::string type;
  std::string as;
};

MediaType parse_media_type(std::string_view text) {
  MediaType media;
  std::string group;
  for (const std::string& part : split(text, ';')) {
    const std::string_view word = trimmed(part);
    if (media.type.empty()) media.type = lowered(word);
    if (word.starts_with("as=")) media.as = word.substr(3);
    if (word.starts_with("v=") && word != "v=v1") group = "another version";
    if (word.starts_with("g=") && word != "g=meta.k8s.io") group = "another group";
  }
  if (!media.as.empty() && !group.empty()) media.as = group;
  return media;
}

bool is_json(const MediaType& media) {
  return media.type == "application/json" || media.type == "*/*" || media.type == "application/*";
}

Failure wrong_shape(std::string_view as, Form::Asked asked, const Resource& resource) {
  if (asked == Form::Asked::kList) {
    return not_acceptable(fmt::format("you requested {}, but the requested object is a list (*core.{}List)", as, resource.kind));
  }
  return not_acceptable(fmt::format("you requested {}, but the requested object is not a list (*core.{})", as, resource.kind));
}

Doc renamed(const Resource& resource, const Doc& object, bool to_stored) {
  if (resource.renames.empty()) return object;
  Doc out = object.with("apiVersion", Doc::string(to_stored ? "v1" : resource.group_version()));
  for (const Rename& rename : resource.renames) {
    const std::string_view from = to_stored ? rename.shown : rename.stored;
    const Doc value = out.at(from);
    if (!value.is_null()) out = out.without(from).with(to_stored ? rename.stored : rename.shown, value);
  }
  return out;
}

}  // namespace

Doc as_stored(const Resource& resource, const Doc& object) { return renamed(resource, object, true); }

Answered<Form> Form::negotiate(std::string_view accept, std::string_view include, Asked asked, const Resource& resource,
                               const Clock& clock) {
  Form form = whole(resource, clock);
  if (trimmed(accept).empty()) return form;
  bool json_asked = false;
  for (const std::string& clause : split(accept, ',')) {
    const MediaType media = parse_media_type(clause);
    if (!is_json(media)) continue;
    json_asked = true;
    if (media.as.empty()) return form;
    if (media.as == "Table") {
      form.kind_ = Kind::kTable;
      form.include_whole_ = include == "Object";
      form.include_none_ = include == "None";
      return form;
    }
    const bool list_form = media.as == "PartialObjectMetadataList";
    if (!list_form && media.as != "PartialObjectMetadata") continue;
    if (list_form ? asked == Asked::kObject : asked == Asked::kList)
      return tl::unexpected(wrong_shape(media.as, asked, resource));
    form.kind_ = Kind::kMetadata;
    return form;
  }
  if (json_asked) return tl::unexpected(not_acceptable("only the following media types are accepted: application/json"));
  Failure failure = not_acceptable("406: Not Acceptable\n\nAvailable representations: application/json");
  failure.details = Json::object();
  return tl::unexpected(std::move(failure));
}

Doc Form::shown(const Doc& object) const {
  return kind_ == Kind::kMetadata ? metadata_only(object) : renamed(*resource_, object, false);
}

void Form::write_row(std::string& out, const Doc& object) const {
  out += R"({"cells":)";
  Doc::from(table_cells(*resource_, object, clock_->wall_now())).write(out);
  out += R"(,"object":)";
  if (include_none_) {
    out += "null";
  } else {
    (include_whole_ ? renamed(*resource_, object, false) : metadata_only(object)).write(out);
  }
  out += '}';
}

void Form::write(std::string& out, const Doc& object) const {
  if (kind_ != Kind::kTable) return shown(object).write(out);
  const auto version = parse_version(object.at({"metadata", "resourceVersion"}).text());
  open_list(out, {.version = version.value_or(0)});
  write_row(out, object);
  out += "]}";
}

void Form::write_bookmark(std::string& out, std::uint64_t version, bool ends_initial) const {
  Json metadata = {{"resourceVersion", std::to_string(version)}};
  if (ends_initial) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  const Json object = {{"apiVersion", resource_->group_version()}, {"kind", resource_->kind}, {"metadata", metadata}};
  write(out, Doc::from(object));
}

void Form::open_list(std::string& out, const ListMeta& meta) const {
  const bool whole = kind_ == Kind::kWhole;
  const std::string kind = whole                   ? fmt::format("{}List", resource_->kind)
                           : kind_ == Kind::kTable ? "Table"
                                                   : "PartialObjectMetadataList";
  out += fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}")", kind,
                     whole ? resource_->group_version() : kMetaVersion, meta.version);
  if (!meta.continue_token.empty()) out += fmt::format(R"(,"continue":"{}")", meta.continue_token);
  if (meta.left >= 0) out += fmt::format(R"(,"remainingItemCount":{})", meta.left);
  out += "},";
  if (kind_ == Kind::kTable) {
    out += R"("columnDefinitions":)" + to_text(table_columns(*resource_)) + R"(,"rows":[)";
  } else {
    out += R"("items":[)";
  }
}

void Form::write_item(std::string& out, const Doc& object) const {
  if (kind_ == Kind::kTable) return write_row(out, object);
  if (kind_ == Kind::kMetadata) return metadata_only(object).write(out);
  const Doc item = shown(object);
  char separator = '{';                           // the items of a typed list carry no type of their own
  for (const auto& [key, value] : item.members()) {
    if (key.text() == "apiVersion" || key.text() == "kind") continue;
    out += separator;
    key.write(out);
    out += ':';
    value.write(out);
    separator = ',';
  }
  out += separator == '{' ? "{}" : "}";
}

}  // namespace nodeward::sim
