// azd, for .ci/azd/run -build. No part of the product.
module azd

go 1.26.4

require github.com/azure/azure-dev/cli/azd v1.31.0
