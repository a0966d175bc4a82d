//go:build !linux

package meter

// Tree can't be told here.
func Tree(int) ([]Process, error) { return nil, ErrUnsupported }

// ReadMachine can't be told here.
func ReadMachine() (Machine, error) { return Machine{}, ErrUnsupported }
