package invariant

// For the tests that look from outside.
var (
	Valid      = valid
	SceneOf    = sceneOf
	TheSubject = theSubject
)

// Scene is a scene.
type Scene = scene

// Snapshot returns the scene as it is collected.
func (s scene) Collected() Snapshot { return s.snapshot() }
