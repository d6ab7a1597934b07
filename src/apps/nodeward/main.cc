// nodeward: the operator's tool.
#include "apps/nodeward/command_line.h"

int main(int argc, char** argv) { return nodeward::apps::run_nodeward(argc, argv); }
