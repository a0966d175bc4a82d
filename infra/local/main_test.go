package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
)

// asCommand makes the test binary the command itself, so that tests can start
// it, and so that it can start itself again for further instances.
const asCommand = "LOCAL_TEST_AS_COMMAND"

// app is the staged app that the tests run.
var app string

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(func() int {
		// Whatever this program starts of itself, such as the instances of chaos, is the
		// command. Tests that mostly wait run three at a time.
		if err := errors.Join(os.Setenv(asCommand, "1"), flag.Set("test.parallel", "3")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		dir, err := os.MkdirTemp("", "local-test")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		app = filepath.Join(dir, "app")
		if _, err := stageProject(context.Background(), stage.Options{Target: stage.Local, Out: app}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

func TestMistakesInTheCall(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := taken.Addr().String()

	cases := map[string]struct {
		args []string
		exit int
		want string // in what is written to stderr
	}{
		"unknown command": {[]string{"frobnicate"}, exitUsage, `unknown command "frobnicate"`},
		"unknown flag":    {[]string{"serve", "-nonsense"}, exitUsage, "-nonsense"},
		"word too many":   {[]string{"stage", "now"}, exitUsage, `unexpected "now"`},
		"target":          {[]string{"stage", "-for", "aws"}, exitUsage, `-for "aws": use local or azure`},
		"instances":       {[]string{"-instances", "0"}, exitUsage, "-instances 0: use 1 to 16"},
		"shards":          {[]string{"serve", "-shards", "9"}, exitUsage, "serve: -shards 9: use 1 to 8"},
		"partitions":      {[]string{"serve", "-partitions", "33"}, exitUsage, "serve: -partitions 33: use 1 to 32"},
		"rate":            {[]string{"load", "-rate", "fast"}, exitUsage, `load: -rate: "fast": the time is missing`},
		"load's URL":      {[]string{"load", "-url", "host"}, exitUsage, `load: -url "host" is not a URL of an app`},
		"load's samples":  {[]string{"load", "-samples", "/nowhere.json"}, exitUsage, "load: -samples: read the samples"},
		"simulated rate":  {[]string{"simulate", "-rate", "1e9:1s"}, exitUsage, `simulate: -rate: "1e9:1s": "1e9" is not a rate`},
		"a short day":     {[]string{"simulate", "-rate", "1:1s"}, exitUsage, "simulate: -rate: 1s is less than a step, 10s"},
		"too many shards": {[]string{"simulate", "-shards", "1001"}, exitUsage, "simulate: -shards 1001: use 1 to 1000"},
		"started before":  {[]string{"simulate", "-starting", "-1s"}, exitUsage, "simulate: -starting -1s: a time can't be negative"},
		"bench of what":   {[]string{"bench", "-rounds", "2"}, exitUsage, "bench: name what to measure"},
		"scenario":        {[]string{"bench", "speed"}, exitUsage, `bench: unknown scenario "speed"`},
		"rounds":          {[]string{"bench", "ingest", "-rounds", "0"}, exitUsage, "bench: -rounds 0: use 1 to 100"},
		"bench backends":  {[]string{"bench", "compare", "-backends", "5ms,6ms"}, exitUsage, `bench: -backends: unknown "6ms": use 5ms, 50ms, tail`},
		"bench hubs":      {[]string{"bench", "compare", "-hubs", "4,many"}, exitUsage, `bench: -hubs: "many" is no number`},
		"bench large hub": {[]string{"bench", "compare", "-hubs", "33"}, exitUsage, "-partitions 33: use 1 to 32"},
		"bench rate":      {[]string{"bench", "compare", "-rate", "0"}, exitUsage, "bench: -rate 0: use 1 to 10000"},
		"bench viewers":   {[]string{"bench", "viewers", "-viewers", "0"}, exitUsage, "bench: -viewers 0: use 1 to 1000"},
		"bench arrivals":  {[]string{"bench", "viewers", "-arrivals", "0.5"}, exitUsage, "bench: -arrivals 0.5: use 1 to 10000"},
		"bench stored":    {[]string{"bench", "status", "-stored", "999"}, exitUsage, "bench: -stored 999: use 1000 to 10000000"},
		"time":            {[]string{"bench", "ingest", "-for", "1ms"}, exitUsage, "bench: a time is too short"},
		"baseline":        {[]string{"baseline", "-kind", "sand"}, exitUsage, `baseline: -kind "sand": use mux, proxy, mock, loop or receiver`},
		"service":         {[]string{"service", "-name", "bank"}, exitUsage, `service: -name "bank": the business's trial has no such service`},
		"no partitions":   {[]string{"emulators", "-partitions", "0"}, exitUsage, "emulators: -partitions 0: use 1 to 32"},
		"requests":        {[]string{"demo", "-requests", "3"}, exitUsage, "-requests 3: use 20"},
		"drill":           {[]string{"drill", "sunday"}, exitUsage, `there is no drill "sunday"; drill alone lists them`},
		"drill's backend": {[]string{"drill", "backend-down", "-backend", "post"}, exitUsage, `-backend "post": use one of account, package`},
		"faults":          {[]string{"serve", "-faults", "gremlins"}, exitUsage, `serve: -faults: faults "gremlins": there is no fault "gremlins"`},
		"profile":         {[]string{"serve", "-profile", "fast"}, exitUsage, `-profile: unknown profile "fast": use production or chaos`},
		"host's profile":  {[]string{"host", "-profile", "fast"}, exitUsage, `-profile: unknown profile "fast": use production or chaos`},
		"admin for all": {[]string{"serve", "-app", app, "-http", "0", "-amqp", "0", "-cosmos", "0", "-admin", ":0"}, exitError,
			"listen :0: other machines reach this address; choose another with -admin"},
		"open to the network": {[]string{"serve", "-app", app, "-http", "0.0.0.0:0"}, exitUsage,
			"serve: -http 0.0.0.0:0: other machines reach this address"},
		"open emulators": {[]string{"emulators", "-cosmos", ":0"}, exitUsage, "or pass -open-to-network"},
		"open host":      {[]string{"host", "-app", app, "-http", "[::]:0"}, exitUsage, "or pass -open-to-network"},
		"address in use": {[]string{"-app", app, "-amqp", at}, exitError,
			"listen " + at + ": in use; free it or pass -amqp 0"},
		"http in use": {[]string{"serve", "-app", app, "-amqp", "0", "-cosmos", "0", "-http", at}, exitError,
			"listen " + at + ": in use; free it or pass -http 0"},
		"no app": {[]string{"serve", "-app", t.TempDir(), "-http", "0", "-amqp", "0", "-cosmos", "0"}, exitError, "host.json"},
	}
	log := filepath.Join(filepath.Dir(app), "local", "log.txt")
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, []byte("of one that serves"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			exit := run(t.Context(), console{args: c.args, out: &out, errOut: &errOut})
			if data, err := os.ReadFile(log); err != nil || string(data) != "of one that serves" {
				t.Errorf("the log of the one that serves: %q, %v", data, err)
			}
			if exit != c.exit || !strings.Contains(errOut.String(), c.want) {
				t.Errorf("exit %d, want %d; stderr %q, want %q in it", exit, c.exit, errOut.String(), c.want)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for arg, want := range map[string]string{"-help": "demo", "help": "emulators", "-version": "go1", "version": "go1"} {
		var out, errOut bytes.Buffer
		exit := run(t.Context(), console{args: []string{arg}, out: &out, errOut: &errOut})
		if exit != exitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d, %q; want %q in it", arg, exit, out.String(), want)
		}
	}
	for _, cmd := range commands() {
		var out, errOut bytes.Buffer
		exit := run(t.Context(), console{args: []string{cmd.name, "-help"}, out: &out, errOut: &errOut})
		if exit != exitOK || !strings.Contains(out.String(), "usage: go run ./infra/local "+cmd.name) {
			t.Errorf("%s -help: exit %d, %q", cmd.name, exit, out.String())
		}
	}
}

// Ensure the demo adds up, and that scripts can read it.
func TestDemoAsJSON(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	exit := run(t.Context(), console{out: &out, errOut: &errOut, args: []string{
		"demo", "-json", "-exit", "-requests", "40", "-app", app, "-http", "0", "-amqp", "0", "-cosmos", "0"}})
	if exit != exitOK {
		t.Fatalf("exit %d\n%s%s", exit, out.String(), errOut.String())
	}
	var summary *workload.Summary
	for line := range strings.Lines(out.String()) {
		var object struct{ Summary *workload.Summary }
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("%q is not JSON: %v", line, err)
		}
		if object.Summary != nil {
			summary = object.Summary
		}
	}
	if summary == nil || !summary.OK() || summary.Accepted != 40 || summary.Quarantined != 1 {
		t.Errorf("summary %+v", summary)
	}
}

// process is a started command.
type process struct {
	*exec.Cmd
	lines chan string
}

// launch starts the command as a process of its own.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	return launchWith(t, nil, args...)
}

// launchWith is launch with settings on top of this process's own environment.
func launchWith(t *testing.T, settings []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(self, args...), lines: make(chan string, 1000)}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Env, p.Stdout, p.Stderr = append(os.Environ(), settings...), write, write
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	t.Cleanup(func() {
		p.Process.Kill() // it may have ended, which is well
		p.Wait()         // the next one uses the same folder
		read.Close()
	})
	go func() {
		defer close(p.lines)
		scan := bufio.NewScanner(read)
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			p.lines <- scan.Text()
		}
	}()
	return p
}

// until returns the lines up to the first that has one of the texts in it.
func (p *process) until(t *testing.T, texts ...string) []string {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	var lines []string
	for {
		select {
		case line, ok := <-p.lines:
			lines = append(lines, line)
			if !ok {
				t.Fatalf("ended without %q:\n%s", texts, strings.Join(lines, "\n"))
			}
			if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
				return lines
			}
		case <-deadline:
			t.Fatalf("no line with %q:\n%s", texts, strings.Join(lines, "\n"))
		}
	}
}
