package infra_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var capacityChecks = []check{{"docs/capacity.md", capacityDocument}, {"storage", storage}}

// planned is what a container takes of each delivery: request units, those of its
// deletion included, and bytes for a while.
type planned struct {
	units float64
	bytes float64
	// ahead says that the documents are kept for as long as a pickup may be ahead,
	// besides.
	ahead bool
}

// plannedOf reads the plan, by container, from the two tables of docs/capacity.md: one
// has the units last, the other the KB first, what the lifetime is and the units of the
// deletion.
func plannedOf(document string) map[string]planned {
	out := map[string]planned{}
	for line := range strings.Lines(document) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		number := func(cell int) float64 {
			n, err := strconv.ParseFloat(strings.TrimSpace(cells[cell]), 64)
			if err != nil {
				return 0 // storage tells of a container for which nothing is planned
			}
			return n
		}
		name := strings.Trim(cells[1], " `")
		p := out[name]
		if len(cells) == 6 {
			p.units += number(4)
		} else {
			p.units, p.bytes = p.units+number(4), 1000*number(2)
			p.ahead = strings.Contains(cells[3], "PICKUP_HORIZON_DAYS")
		}
		out[name] = p
	}
	return out
}

// storage: with autoscale a container's maximum is enough for the deliveries that
// the size is for, all month: for their request units, and for 10 RU/s for each GB
// of the documents that are kept (Microsoft Learn, "Azure Cosmos DB service quotas",
// minimum throughput limits).
func storage(w *world) []string {
	text, err := os.ReadFile(filepath.Join(sourceRoot, "docs", "capacity.md"))
	if err != nil {
		return []string{err.Error()}
	}
	plan := plannedOf(string(text))
	row := columnOf(string(text), w.scenario.size)["requests/s, sustained"]
	rate, err := strconv.ParseFloat(strings.ReplaceAll(row, " ", ""), 64)
	if err != nil {
		return []string{fmt.Sprintf("docs/capacity.md says of %s that it carries %q requests/s", w.scenario.size, row)}
	}
	s, _, err := handlerSettings(w.app("backends").settings)
	if err != nil {
		return nil // settingsLoad says what is wrong
	}
	var out []string
	for _, c := range w.deployed.Of(containerKind) {
		most, _ := c.At("properties.options.autoscaleSettings.maxThroughput").(int64)
		name := c.Name[strings.LastIndex(c.Name, "/")+1:]
		p := plan[name]
		if p.units == 0 && name != "quarantine" {
			out = append(out, fmt.Sprintf("nothing is planned for %s", name))
		}
		if most == 0 {
			continue // serverless
		}
		if need := p.units * rate; float64(most) < need {
			out = append(out, fmt.Sprintf("%s has %d RU/s, and %.0f/s take %.0f", name, most, rate, need))
		}
		const day = 24 * time.Hour
		lives := s.Budgets.DocumentTTL + day
		if p.ahead {
			lives += s.Business.Span("PICKUP_HORIZON_DAYS")
		}
		gigabytes := p.bytes * rate * lives.Seconds() / 1e9
		if name == "requests" { // not ended, but accepted
			gigabytes = p.bytes * rate * s.Budgets.DocumentTTL.Seconds() / 1e9
		}
		if float64(most) < 10*gigabytes {
			out = append(out, fmt.Sprintf("%s holds %.0f GB at %.0f/s, which takes %.0f RU/s", name, gigabytes, rate, 10*gigabytes))
		}
	}
	return out
}

// capacityDocument: the table of the sizes in docs/capacity.md says what a
// deployment of each size has.
func capacityDocument(w *world) []string {
	text, err := os.ReadFile(filepath.Join(sourceRoot, "docs", "capacity.md"))
	if err != nil {
		return []string{err.Error()}
	}
	cells := columnOf(string(text), w.scenario.size)
	var out []string
	want := func(row, part string) {
		if cell, ok := cells[row]; !ok || !strings.Contains(cell, part) && cell != "as standard" {
			out = append(out, fmt.Sprintf("docs/capacity.md says of %s, %s: %q; it is %s", w.scenario.size, row, cell, part))
		}
	}
	for _, hub := range w.deployed.Of(hubKind) {
		want("Event Hubs", fmt.Sprintf("%d partitions", hub.At("properties.partitionCount")))
	}
	total := int64(0)
	for _, c := range w.deployed.Of(containerKind) {
		most, _ := c.At("properties.options.autoscaleSettings.maxThroughput").(int64)
		total += most
	}
	row := "Cosmos DB"
	if w.scenario.stamp {
		row = "Cosmos DB of a stamp"
	}
	if total == 0 {
		want(row, "serverless")
	} else {
		want(row, "autoscale, "+grouped(total)+" RU/s")
	}
	zones := "no"
	for _, a := range w.sorted() {
		most, _ := a.site.At("properties.functionAppConfig.scaleAndConcurrency.maximumInstanceCount").(int64)
		want("instances of the "+a.name+", at most", grouped(most))
		if plan := w.deployed.Find(a.site.Text("properties.serverFarmId")); plan != nil && plan.At("properties.zoneRedundant") == true {
			zones = "yes"
		}
		want("logged", a.settings["LOG_LEVEL"])
	}
	want("zone-redundant", zones)
	if s, _, err := handlerSettings(w.app("backends").settings); err == nil {
		want("the simulated fleet", fmt.Sprintf("%s drones, time × %v", grouped(int64(s.Business.Whole("FLEET_DRONES"))), s.Business.Decimal("FLIGHT_TIME_SCALE")))
	}
	return out
}

// columnOf returns, by row, the cells of a size in the table that has a column
// for each size.
func columnOf(document, size string) map[string]string {
	out := map[string]string{}
	column := 0
	for line := range strings.Lines(document) {
		cells := strings.Split(strings.ReplaceAll(line, "\u00a0", " "), "|")
		switch {
		case len(cells) != 6:
			column = 0
		case strings.TrimSpace(cells[2]) == "small":
			for i, cell := range cells {
				if strings.TrimSpace(cell) == size {
					column = i
				}
			}
		case column > 0 && out[strings.TrimSpace(cells[1])] == "":
			out[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[column])
		}
	}
	return out
}

// grouped writes a number with a space before each three digits, from 10 000 on
// as the document does.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	if len(text) < 5 {
		return text
	}
	var parts []string
	for len(text) > 3 {
		parts = append([]string{text[len(text)-3:]}, parts...)
		text = text[:len(text)-3]
	}
	return strings.Join(append([]string{text}, parts...), " ")
}
