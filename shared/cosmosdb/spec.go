package cosmosdb

// The containers.
const (
	TransactionsContainer = "transactions"
	RequestsContainer     = "requests"
	QuarantineContainer   = "quarantine"
	AccountsContainer     = "accounts"
	PackagesContainer     = "packages"
	BookingsContainer     = "bookings"
	AssignmentsContainer  = "assignments"
	DeliveriesContainer   = "deliveries"
	DronesContainer       = "drones"
	CheckpointsContainer  = "checkpoints" // Relay's
)

// ContainerSpec is how a container has to be made.
type ContainerSpec struct {
	Name string
	// PartitionKey is the path of the partition key, such as "/id".
	PartitionKey string
	// DefaultTTLSeconds is the default time to live of the documents: 0 means
	// that none expires, -1 that those expire which have a ttl of their own. Where
	// it is positive, a document's own ttl counts, be it shorter or longer: requests
	// and the quarantine follow DOCUMENT_TTL_DAYS, like transactions.
	DefaultTTLSeconds int
}

const thirtyDays = 30 * 24 * 60 * 60

// Containers are all containers of the system. Whoever makes the database
// (infra/main.bicep, the local runtime) is held to it.
var Containers = []ContainerSpec{
	{TransactionsContainer, "/id", -1},
	{RequestsContainer, "/id", thirtyDays},
	{QuarantineContainer, "/source", thirtyDays},
	{AccountsContainer, "/id", 0},
	{PackagesContainer, "/id", -1},
	{BookingsContainer, "/id", -1},
	{AssignmentsContainer, "/id", -1},
	{DeliveriesContainer, "/id", -1},
	{DronesContainer, "/zone", 0},
	{CheckpointsContainer, "/id", 0},
}
