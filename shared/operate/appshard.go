package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/shard"
)

// AppShard asks the app at a URL, with or without its prefix /api, in which shard it works: its
// function Ready tells anyone, whether it is ready or not. No credential goes there.
func AppShard(ctx context.Context, app string) (n shard.Number, err error) {
	target := strings.TrimSuffix(strings.TrimRight(app, "/"), "/api") + "/api/ready"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req) // which follows no redirect
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w", target, err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	var told map[string]json.RawMessage
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&told); err != nil || json.Unmarshal(told[ShardMember], &n) != nil || n < shard.First {
		return 0, fmt.Errorf("ask %s: the answer, with status %d, names no shard: it is no app of this system, or an older one", target, resp.StatusCode)
	}
	return n, nil
}
