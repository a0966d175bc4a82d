package customhandler

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
