#include "labels/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "labels/pod_watches.h"

namespace nodeward::labels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> selectors(const Options& options) {
  std::vector<std::string> all;
  for (const PodWatch& watch : pod_watches(options)) all.push_back(watch.label_selector);
  return all;
}

TEST(PodWatches, SelectWhatTheFlagsSay) {
  EXPECT_THAT(selectors({}), ElementsAre("app in (nvidia-dcgm,nvidia-dcgm-dra,nvidia-driver-daemonset)",
                                         "app.kubernetes.io/component=nvidia-driver,app!=nvidia-driver-daemonset",
                                         "k8s-app=nvidia-driver-installer"));
}

TEST(PodWatches, AnEmptyValueIsAValueToTheServer) {
  EXPECT_THAT(selectors({.dcgm_apps = {""}, .driver_app = "x"}),
              ElementsAre("app in (,x)", "app.kubernetes.io/component=nvidia-driver,app!=x", ::testing::_));
  EXPECT_THAT(selectors({.dcgm_apps = {""}, .driver_app = "", .installer_app = ""}),
              ElementsAre("app in ()", "app.kubernetes.io/component=nvidia-driver,app!=", "k8s-app="));
}

TEST(PodWatches, AnEmptyValueIsNotAMissingLabel) {
  const Options options{.dcgm_apps = {""}, .driver_app = "x", .installer_app = ""};
  kube::Pod pod;
  EXPECT_EQ(roles_of(PodWatchId::kApps, pod, options), 0);
  EXPECT_EQ(roles_of(PodWatchId::kInstallers, pod, options), 0);
  pod.labels = {{"app", ""}, {"k8s-app", ""}};
  EXPECT_EQ(roles_of(PodWatchId::kApps, pod, options), kDcgm);
  EXPECT_EQ(roles_of(PodWatchId::kInstallers, pod, options), kInstaller);
}

TEST(PodWatches, ADriverByItsAppIsNotOneByItsComponentToo) {
  kube::Pod pod;
  pod.labels = {{"app", "nvidia-driver-daemonset"}, {"app.kubernetes.io/component", "nvidia-driver"}};
  EXPECT_EQ(roles_of(PodWatchId::kApps, pod, {}), kDriver);
  EXPECT_EQ(roles_of(PodWatchId::kCrdDrivers, pod, {}), 0);
  pod.labels[0].second = "nvidia-gpu-driver-ubuntu22.04-7d9f5c";
  EXPECT_EQ(roles_of(PodWatchId::kApps, pod, {}), 0);
  EXPECT_EQ(roles_of(PodWatchId::kCrdDrivers, pod, {}), kCrdDriver);
}

TEST(PodWatches, OneAppValueMayHaveTwoRoles) {
  const Options options{.dcgm_apps = {"gpu"}, .driver_app = "gpu"};
  kube::Pod pod;
  pod.labels = {{"app", "gpu"}};
  EXPECT_EQ(roles_of(PodWatchId::kApps, pod, options), kDcgm | kDriver);
  EXPECT_EQ(pod_watches(options)[0].label_selector, "app in (gpu)");
}

TEST(Options, TheAppListIsSplitAtCommas) {
  EXPECT_THAT(app_list("nvidia-dcgm"), ElementsAre("nvidia-dcgm"));
  EXPECT_THAT(app_list("a, b"), ElementsAre("a", "b"));
  EXPECT_THAT(app_list(""), ElementsAre(""));
  EXPECT_THAT(app_list("a,"), ElementsAre("a", ""));
}

TEST(Options, R07LegalAppValuesPass) {
  for (const std::string& value : {std::string(), std::string("a"), std::string("A-b_c.9"), std::string(63, 'x')}) {
    EXPECT_TRUE(validate({.dcgm_apps = {value}, .driver_app = value, .installer_app = value})) << value;
  }
}

TEST(Options, R07AnIllegalAppValueIsNamedWithItsFlag) {
  for (const std::string& value :
       {std::string("a b"), std::string("-x-"), std::string("a/b"), std::string("x."), std::string("größe"), std::string(64, 'x'),
        std::string("--"), std::string("_"), std::string("a)"), std::string(1, '\0')}) {
    const Result<> dcgm = validate({.dcgm_apps = {"ok", value}});
    ASSERT_FALSE(dcgm) << value;
    EXPECT_THAT(dcgm.error().message, HasSubstr("--dcgm-app-label"));
    EXPECT_EQ(dcgm.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(validate({.driver_app = value}).error().message, HasSubstr("--driver-app-label"));
    EXPECT_THAT(validate({.installer_app = value}).error().message, HasSubstr("--gke-installer-app-label"));
  }
}

TEST(Options, TheNodeCacheKeepsWhatIsReadAndWritten) {
  const kube::NodeSelection kept = node_selection({.kata_label = "site/kata"});
  for (const std::string key : {"site/kata", "katacontainers.io/kata-runtime", "nvidia.com/gpu.present",
                                "nvsentinel.dgxc.nvidia.com/managed", "nvsentinel.dgxc.nvidia.com/dcgm.version",
                                "nvsentinel.dgxc.nvidia.com/driver.installed", "nvsentinel.dgxc.nvidia.com/kata.enabled"}) {
    EXPECT_TRUE(kept.labels.wants(key)) << key;
  }
  EXPECT_EQ(kept.labels.keys.size(), 7U);
  EXPECT_THAT(kept.annotations.keys, ElementsAre("nvsentinel.dgxc.nvidia.com/dcgm-bootstrap-completed"));
  EXPECT_FALSE(kept.spec);
}

TEST(Options, TheKataLabelOfTheFlagIsNotListedTwice) {
  EXPECT_THAT(kata_keys({.kata_label = "katacontainers.io/kata-runtime"}), ElementsAre("katacontainers.io/kata-runtime"));
}

}  // namespace
}  // namespace nodeward::labels
