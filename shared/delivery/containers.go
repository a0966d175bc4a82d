package delivery

// The containers of the backends.
const (
	AccountsContainer    = "accounts"
	PackagesContainer    = "packages"
	BookingsContainer    = "bookings"
	AssignmentsContainer = "assignments"
	DeliveriesContainer  = "deliveries"
	DronesContainer      = "drones"
)
