package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Host is host.json with its overrides and defaults.
type Host struct {
	Handler         Handler
	HTTP            HTTP
	EventHubs       EventHubs
	ServiceBus      ServiceBus
	FunctionTimeout time.Duration // 0 means none
	Functions       []string      // the only ones to run; nil means all
	Retry           *Retry        // for every function without its own
	HasBundle       bool          // extensionBundle is named
	OpenTelemetry   bool          // telemetryMode
}

// Handler is the customHandler section.
type Handler struct {
	Path                  string // absolute, or a bare name for PATH
	Args                  []string
	Dir                   string        // absolute working directory
	InitializationTimeout time.Duration // default 30 s
	Proxy                 bool          // enableProxyingHttpRequest
	Port                  int           // 0 means a free one
}

// HTTP is the extensions.http section.
type HTTP struct {
	RoutePrefix    string // default "api"
	MaxOutstanding int    // requests running or waiting; -1 for no limit, the default
	MaxConcurrent  int    // requests running; -1 for no limit, the default
}

// EventHubs is the extensions.eventHubs section.
type EventHubs struct {
	MaxBatch            int           // maxEventBatchSize, default 100
	MinBatch            int           // minEventBatchSize, default 1
	MaxWait             time.Duration // maxWaitTime, default 1 min, at most 10 min
	CheckpointFrequency int           // batchCheckpointFrequency, default 1
	Prefetch            int           // prefetchCount, default 300
	UpdateInterval      time.Duration // loadBalancingUpdateInterval, 0 if absent
	Expiration          time.Duration // partitionOwnershipExpirationInterval, 0 if absent
	Start               string        // initialOffsetOptions.type: fromStart (default), fromEnd, fromEnqueuedTime
	StartTime           time.Time     // initialOffsetOptions.enqueuedTimeUtc
	ClientRetry         ClientRetry
}

// ServiceBus is the extensions.serviceBus section.
type ServiceBus struct {
	MaxConcurrentCalls int           // default 16 × cores
	MaxLockRenewal     time.Duration // maxAutoLockRenewalDuration, default 5 min; negative is for ever
	MaxBatch           int           // maxMessageBatchSize, default 1000
	MinBatch           int           // minMessageBatchSize, default 1
	MaxBatchWait       time.Duration // maxBatchWaitTime, default 30 s, at most 2.5 min
	ClientRetry        ClientRetry
}

// ClientRetry is a clientRetryOptions section: the SDK client's own retries of
// operations, never of functions.
type ClientRetry struct {
	MaxRetries      int           // default 3
	Delay, MaxDelay time.Duration // defaults 0.8 s and 1 min
}

const hostFile = "host.json"

// loadHost reads host.json. warnings name what it doesn't know.
func loadHost(root string, s Settings, p *Problems) (h Host, warnings []string) {
	data, err := os.ReadFile(filepath.Join(root, hostFile))
	if err != nil {
		p.addf(hostFile, "%v: the script root must hold a host.json (the staged app)", err)
		return h, nil
	}
	tree := map[string]any{}
	if err := json.Unmarshal(data, &tree); err != nil {
		p.addf(hostFile, "not a JSON object: %v", err)
		return h, nil
	}
	apply(tree, s.withPrefix("AzureFunctionsJobHost"))
	top := newSection(hostFile, tree, p)
	if v := top.text("version", ""); v != "2.0" {
		top.addf("version", "must be \"2.0\", not %q", v)
	}
	h.FunctionTimeout = functionTimeout(top)
	h.Functions = top.list("functions")
	h.Retry = loadRetry(top, p)
	bundle := top.sub("extensionBundle")
	h.OpenTelemetry = strings.EqualFold(top.text("telemetryMode", ""), "OpenTelemetry")
	h.HasBundle = bundle.text("id", "") != "" && bundle.text("version", "") != ""
	ext := top.sub("extensions")
	http, hubs, bus := ext.sub("http"), ext.sub("eventHubs"), ext.sub("serviceBus")
	h.HTTP, h.EventHubs, h.ServiceBus = loadHTTP(http), loadEventHubs(hubs), loadServiceBus(bus)
	custom := top.sub("customHandler")
	h.Handler = loadHandler(root, custom, s)
	for _, name := range []string{"logging", "aggregator", "healthMonitor", "singleton", "concurrency", "watchDirectories", "$schema"} {
		top.has(name) // no effect here, and no mistake
	}
	for _, sec := range []*section{top, http, hubs, bus, custom} {
		warnings = append(warnings, sec.unknown()...)
	}
	return h, warnings
}

// functionTimeout is 30 minutes unless set, as outside the Consumption plan;
// "-1" is none.
func functionTimeout(top *section) time.Duration {
	if top.text("functionTimeout", "") == "-1" {
		return 0
	}
	return top.duration("functionTimeout", 30*time.Minute, time.Second)
}

func loadHTTP(s *section) HTTP {
	h := HTTP{
		RoutePrefix:    strings.Trim(s.text("routePrefix", "api"), "/"),
		MaxOutstanding: s.integer("maxOutstandingRequests", -1, -1),
		MaxConcurrent:  s.integer("maxConcurrentRequests", -1, -1),
	}
	for _, name := range []string{"dynamicThrottlesEnabled", "hsts", "customHeaders"} {
		s.has(name)
	}
	return h
}

func loadEventHubs(s *section) EventHubs {
	e := EventHubs{
		MaxBatch:            s.integer("maxEventBatchSize", 100, 1),
		MinBatch:            s.integer("minEventBatchSize", 1, 1),
		MaxWait:             s.duration("maxWaitTime", time.Minute, time.Millisecond),
		CheckpointFrequency: s.integer("batchCheckpointFrequency", 1, 1),
		Prefetch:            s.integer("prefetchCount", 300, 1),
		UpdateInterval:      s.duration("loadBalancingUpdateInterval", 0, time.Millisecond),
		Expiration:          s.duration("partitionOwnershipExpirationInterval", 0, time.Millisecond),
		ClientRetry:         loadClientRetry(s),
	}
	if e.MinBatch > e.MaxBatch {
		s.addf("minEventBatchSize", "must not be above maxEventBatchSize (%d)", e.MaxBatch)
	}
	if e.MaxWait > 10*time.Minute {
		s.addf("maxWaitTime", "must not be above 00:10:00")
	}
	offset := s.sub("initialOffsetOptions")
	e.Start = offset.text("type", "fromStart")
	switch strings.ToLower(e.Start) {
	case "fromstart", "fromend":
	case "fromenqueuedtime":
		at, err := time.Parse(time.RFC3339, offset.text("enqueuedTimeUtc", ""))
		if err != nil {
			offset.addf("enqueuedTimeUtc", "must be a UTC time such as 2026-10-12T00:00:00Z")
		}
		e.StartTime = at
	default:
		offset.addf("type", "must be fromStart, fromEnd or fromEnqueuedTime, not %q", e.Start)
	}
	for _, name := range []string{"prefetchSizeInBytes", "transportType", "webProxy", "trackLastEnqueuedEventProperties",
		"targetUnprocessedEventThreshold", "enableCheckpointing"} {
		s.has(name)
	}
	return e
}

func loadServiceBus(s *section) ServiceBus {
	b := ServiceBus{
		MaxConcurrentCalls: s.integer("maxConcurrentCalls", 16*runtime.NumCPU(), 1),
		MaxLockRenewal:     s.duration("maxAutoLockRenewalDuration", 5*time.Minute, -time.Millisecond),
		MaxBatch:           s.integer("maxMessageBatchSize", 1000, 1),
		MinBatch:           s.integer("minMessageBatchSize", 1, 1),
		MaxBatchWait:       s.duration("maxBatchWaitTime", 30*time.Second, time.Millisecond),
		ClientRetry:        loadClientRetry(s),
	}
	if b.MinBatch > b.MaxBatch {
		s.addf("minMessageBatchSize", "must not be above maxMessageBatchSize (%d)", b.MaxBatch)
	}
	if b.MaxBatchWait > 150*time.Second {
		s.addf("maxBatchWaitTime", "must not be above 00:02:30")
	}
	if !s.boolean("autoCompleteMessages", true) {
		s.addf("autoCompleteMessages", "must stay true: a custom handler can't settle messages")
	}
	for _, name := range []string{"prefetchCount", "maxConcurrentSessions", "maxConcurrentCallsPerSession", "sessionIdleTimeout",
		"enableCrossEntityTransactions", "transportType", "webProxy"} {
		s.has(name)
	}
	return b
}

func loadClientRetry(parent *section) ClientRetry {
	s := parent.sub("clientRetryOptions")
	return ClientRetry{
		MaxRetries: s.integer("maxRetries", 3, 0),
		Delay:      s.duration("delay", 800*time.Millisecond, 0),
		MaxDelay:   s.duration("maxDelay", s.duration("maximumDelay", time.Minute, 0), 0),
	}
}
