//go:build !linux

package meter

// Tree can't be told here.
func Tree(int) ([]Process, error) { return nil, ErrUnsupported }

// ReadMachine can't be told here.
func ReadMachine() (Machine, error) { return Machine{}, ErrUnsupported }

// Resident can't be told here.
func Resident(int) (now, peak int64, err error) { return 0, 0, ErrUnsupported }

// ForgetPeak can't be done here.
func ForgetPeak(int) error { return ErrUnsupported }

// Environment can't be told here.
func Environment(int) ([]string, error) { return nil, ErrUnsupported }
