package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/shared/auth"
)

// The variables by which an operator is let in. Other processes of this machine
// can see what is on a command line.
const (
	opsTokenVariable = "OPS_TOKEN"
	opsKeyVariable   = "OPS_KEY"
)

const opsSecretUsage = `
  An app in Azure needs one of:
    -audience api://...  a token of your sign-in (az login, azd auth login)
    ` + opsTokenVariable + `            an access token
    ` + opsKeyVariable + `              a function key, if the app uses keys
`

// opsSecret is what lets an operator in, as the flags and the environment say.
type opsSecret struct {
	key, audience string
	tokens        *auth.Tokens // nil unless there is an audience
}

func (s *opsSecret) define(flags *flag.FlagSet) {
	flags.StringVar(&s.key, "key", "", "function `key` of the app; others can see it on the command line, so set "+opsKeyVariable+" instead")
	flags.StringVar(&s.audience, "audience", "", "`audience` of the app, such as api://...: uses a token of your Azure sign-in; "+
		"to use another token, set "+opsTokenVariable)
}

// open returns what goes with the calls. A token in the environment wins over
// one that would have to be asked for.
func (s *opsSecret) open() (ops.Secret, error) {
	secret := ops.Secret{Key: cmp.Or(s.key, os.Getenv(opsKeyVariable))}
	if token := os.Getenv(opsTokenVariable); token != "" {
		secret.Token = func(context.Context) (string, error) { return token, nil }
		return secret, nil
	}
	if s.audience == "" {
		return secret, nil
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return secret, fmt.Errorf("sign in for %s: %w", s.audience, err)
	}
	s.tokens = auth.NewTokens(credential, s.audience, time.Now)
	secret.Token = s.tokens.Token
	return secret, nil
}

func (s *opsSecret) close() {
	if s.tokens != nil {
		s.tokens.Close()
	}
}
