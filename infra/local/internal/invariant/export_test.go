package invariant

// Valid is valid for the tests that look from outside.
var Valid = valid
