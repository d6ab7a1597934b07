// The test cluster's own certificate authority: made anew for each cluster, valid for a day. Pure but for the random numbers.
#pragma once

#include <string>

namespace nodeward::api {

struct Certificates {
  std::string ca_cert;
  std::string server_cert;    // for 127.0.0.1 and localhost
  std::string server_key;
  std::string client_cert;    // user "admin" of group system:masters
  std::string client_key;
  std::string service_account_key;
};

Certificates make_certificates();

}  // namespace nodeward::api
