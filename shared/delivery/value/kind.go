package value

// Sizes are the sizes of a package.
var Sizes = []string{"Small", "Medium", "Large"}

// Confirmations are the ways in which a receiver confirms a delivery.
var Confirmations = []string{"FingerPrint", "Picture", "Voice", "None"}

// NoConfirmation is the confirmation of a request that names none.
const NoConfirmation = "None"

// MaxTag is the greatest length of a package's tag, in characters.
const MaxTag = 128
