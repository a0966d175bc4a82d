package infra_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/operate"
)

var operationChecks = []check{{"alerts", alerts}, {"what alerts read", readByAlerts}, {"metrics of ours", metricsOfOurs}, {"what is unusual", unusual}, {"placeholders", placeholders}}

var alertKinds = []string{"Microsoft.Insights/metricAlerts", "Microsoft.Insights/scheduledQueryRules", "Microsoft.AlertsManagement/prometheusRuleGroups"}

var paragraph = regexp.MustCompile(`docs/operations\.md#([a-z-]+)`)

// alerts: each watches what is deployed, tells the operators, and names its
// paragraph of the runbook.
func alerts(w *world) []string {
	var out []string
	runbook, err := os.ReadFile(filepath.Join(sourceRoot, "docs", "operations.md"))
	if err != nil {
		return []string{err.Error()}
	}
	for _, kind := range alertKinds {
		for _, r := range w.deployed.Of(kind) {
			for _, scope := range texts(r.At("properties.scopes")) {
				if w.deployed.Find(scope) == nil {
					out = append(out, fmt.Sprintf("%s watches %s, which is not deployed", r.Name, short(scope)))
				}
			}
			all := texts(r.Body)
			if !slices.ContainsFunc(all, func(text string) bool {
				group := w.deployed.Find(text)
				return group != nil && group.Type == "Microsoft.Insights/actionGroups"
			}) {
				out = append(out, r.Name+" tells nobody")
			}
			named := paragraph.FindAllStringSubmatch(strings.Join(all, "\n"), -1)
			if len(named) == 0 {
				out = append(out, r.Name+" names no paragraph of docs/operations.md")
			}
			for _, m := range named {
				if !strings.Contains(string(runbook), "\n### "+m[1]+"\n") {
					out = append(out, fmt.Sprintf("%s names docs/operations.md#%s, which is not there", r.Name, m[1]))
				}
			}
		}
	}
	for _, r := range w.deployed.Of(alertKinds[0]) {
		criteria, _ := r.At("properties.criteria.allOf").([]any)
		for _, item := range criteria {
			dimensions, _ := item.(map[string]any)["dimensions"].([]any)
			for _, d := range dimensions {
				dimension := d.(map[string]any)
				if bicep.Text(dimension["name"]) != "EntityName" {
					continue
				}
				for _, entity := range texts(dimension["values"]) {
					if !slices.Contains(slices.Concat(w.entities(queueKind), w.entities(hubKind)), entity) {
						out = append(out, fmt.Sprintf("%s watches the entity %s, which is not deployed", r.Name, entity))
					}
				}
			}
		}
	}
	return out
}

var (
	code        = sync.OnceValues(func() (map[string]bool, error) { return literalsOf("handlers", "shared") })
	quoted      = regexp.MustCompile("\"([^\"\\n]*)\"")
	logText     = regexp.MustCompile(`Message has(?:_cs)? (?:"([^"]+)"|'([^']+)')`)
	placeholder = regexp.MustCompile(`##[A-Za-z]+##`)
	ours        = regexp.MustCompile(regexp.QuoteMeta(chosen.Business().Metrics()) + `\.[a-z_.]*[a-z]`)
)

// literalsOf are the texts in quotes in the Go files below folders of the
// project, tests left out.
func literalsOf(folders ...string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(sourceRoot, folder), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range quoted.FindAllSubmatch(text, -1) {
				out[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// linesOfTheHost are what alerts look for in the host's own log
// (HttpFunctionInvocationDispatcher.cs of Azure/azure-functions-host).
var linesOfTheHost = []string{"restart retry count"}

// readByAlerts: the log lines that queries look for are written by the code, or
// by the host.
func readByAlerts(w *world) []string {
	written, err := code()
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, r := range w.deployed.Of(alertKinds[1]) {
		for _, text := range texts(r.Body) {
			for _, m := range logText.FindAllStringSubmatch(text, -1) {
				line := m[1]
				if msg, ok := strings.CutPrefix(m[2], `"msg":"`); ok { // a log line's own field
					line = strings.TrimSuffix(msg, `"`)
				}
				if !written[line] && !slices.Contains(linesOfTheHost, line) {
					out = append(out, fmt.Sprintf("%s looks for the log line %q, which nothing writes", r.Name, line))
				}
			}
		}
	}
	return out
}

var (
	asked   = regexp.MustCompile(`Line\.about\) == "([^"]*)"`)
	drilled = regexp.MustCompile(`\. Drill: ([a-z, -]+)`)
	// drill is a row of the drills in docs/operations.md, which the tests of package drill
	// hold against what there is.
	drill = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*\\(#([a-z-]+)\\) \\|[^|]*\\|$")
)

// unusual: whatever the status finds unusual has an alert, which leads to the same
// paragraph of the runbook, and to the drills of that.
func unusual(w *world) []string {
	runbook, err := os.ReadFile(filepath.Join(sourceRoot, "docs", "operations.md"))
	if err != nil {
		return []string{err.Error()}
	}
	drills := drill.FindAllStringSubmatch(string(runbook), -1)
	if len(drills) == 0 {
		return []string{"docs/operations.md has no drills"}
	}
	var out []string
	told, practised := map[string]bool{}, map[[2]string]bool{}
	for _, kind := range alertKinds {
		for _, r := range w.deployed.Of(kind) {
			for _, text := range texts(r.Body) {
				m := paragraph.FindStringSubmatch(text)
				if m != nil {
					told[m[1]] = true
				}
				if m := asked.FindStringSubmatch(text); m != nil && !slices.Contains(operate.Headings, m[1]) {
					out = append(out, fmt.Sprintf("%s asks for what is about %q, which nothing unusual is", r.Name, m[1]))
				}
				d := drilled.FindStringSubmatch(text)
				if m == nil || d == nil {
					continue
				}
				for name := range strings.SplitSeq(d[1], ", ") {
					practised[[2]string{m[1], name}] = true
					if !slices.ContainsFunc(drills, func(row []string) bool { return row[1] == name }) {
						out = append(out, fmt.Sprintf("%s names the drill %s, which there is not", r.Name, name))
					}
				}
			}
		}
	}
	for _, heading := range operate.Headings {
		if !told[heading] {
			out = append(out, "no alert tells of "+heading+", which the status does")
		}
	}
	for _, row := range drills {
		if !practised[[2]string{row[2], row[1]}] {
			out = append(out, fmt.Sprintf("no alert of %s names the drill %s", row[2], row[1]))
		}
	}
	return out
}

// metricsOfOurs: the metrics that alerts and workbook show are recorded. The tests
// of package telemetry hold the document to what is recorded.
func metricsOfOurs(w *world) []string {
	recorded, err := os.ReadFile(filepath.Join(sourceRoot, "docs", "telemetry.md"))
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	read := false
	for _, r := range w.deployed.Resources {
		for _, text := range texts(r.Body) {
			for _, name := range ours.FindAllString(text, -1) {
				read = true
				if !strings.Contains(string(recorded), "\n| `"+name+"` |") {
					out = append(out, fmt.Sprintf("%s reads the metric %s, which nothing records", r.Name, name))
				}
			}
		}
	}
	if !read {
		out = append(out, "nothing reads a metric of ours")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// placeholders: none is left in what is deployed.
func placeholders(w *world) []string {
	var out []string
	for _, r := range w.deployed.Resources {
		for _, text := range texts(r.Body) {
			if left := placeholder.FindString(text); left != "" {
				out = append(out, fmt.Sprintf("%v: the placeholder %s is left in %s", r.Position, left, short(r.ID)))
			}
		}
	}
	return out
}
