package infra_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

var capacityChecks = []check{{"docs/capacity.md", capacityDocument}}

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
	if total == 0 {
		want("Cosmos DB", "serverless")
	} else {
		want("Cosmos DB", "autoscale, "+grouped(total)+" RU/s")
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
		want("the simulated fleet", fmt.Sprintf("%s drones, time × %v", grouped(int64(s.Fleet.Drones)), s.Fleet.TimeScale))
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
