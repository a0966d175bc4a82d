//go:build !linux

package meter

// Tree can't be told here.
func Tree(int) ([]Process, error) { return nil, ErrUnsupported }

// ReadMachine can't be told here.
func ReadMachine() (Machine, error) { return Machine{}, ErrUnsupported }

// Environment can't be told here.
func Environment(int) ([]string, error) { return nil, ErrUnsupported }
