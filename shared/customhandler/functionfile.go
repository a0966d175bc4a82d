package customhandler

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// FunctionFile is a function.json: what makes the host call a function (Microsoft
// Learn, "Azure Functions triggers and bindings"). It has what ours use.
type FunctionFile struct {
	Bindings []Binding `json:"bindings"`
	Retry    *Retry    `json:"retry,omitempty"`
}

// Binding is a trigger, or an output.
type Binding struct {
	Type          string   `json:"type"`
	Direction     string   `json:"direction"`
	Name          string   `json:"name"`
	AuthLevel     string   `json:"authLevel,omitempty"`
	Methods       []string `json:"methods,omitempty"`
	Route         string   `json:"route,omitempty"`
	EventHubName  string   `json:"eventHubName,omitempty"`
	ConsumerGroup string   `json:"consumerGroup,omitempty"`
	QueueName     string   `json:"queueName,omitempty"`
	Connection    string   `json:"connection,omitempty"`
	Cardinality   string   `json:"cardinality,omitempty"`
	DataType      string   `json:"dataType,omitempty"`
	Schedule      string   `json:"schedule,omitempty"`
}

// Retry is a retry policy of the host.
type Retry struct {
	Strategy        string `json:"strategy"`
	MaxRetryCount   int    `json:"maxRetryCount"` // -1 is for ever
	MinimumInterval string `json:"minimumInterval"`
	MaximumInterval string `json:"maximumInterval"`
}

// OpenToAll reports whether the host passes requests to a function on without
// asking their callers for a key, as its function.json in the folder of the app
// says.
func OpenToAll(root, function string) (bool, error) {
	data, err := os.ReadFile(filepath.Join(root, function, "function.json"))
	if err != nil {
		return false, err
	}
	var file FunctionFile
	if err := json.Unmarshal(data, &file); err != nil {
		return false, fmt.Errorf("function.json of %s: %w", function, err)
	}
	for _, b := range file.Bindings {
		// Without a level it is function (Microsoft Learn, "Azure Functions HTTP trigger").
		if strings.EqualFold(b.Type, "httpTrigger") && strings.EqualFold(b.AuthLevel, "anonymous") {
			return true, nil
		}
	}
	return false, nil
}
