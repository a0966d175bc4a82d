// Package bicep reads Bicep files and works out what a deployment of them would
// contain, without Azure: for the tests that hold infra/ to the code.
//
// Load parses a file with all files that it names and checks what can be
// checked without values: names, functions, modules' parameters and outputs,
// what is declared and not used. Program.Deploy evaluates it for given
// parameters and returns the resources with their bodies, and the outputs. What
// only a deployment knows (an endpoint, a principal id, keys) is a Symbol, which
// prints as <type/name.property>; two symbols of the same property of the same
// resource are equal. Ids are known, since they follow from names. uniqueString
// and guid are stand-ins: as long as Azure's, made of the same characters, the
// same for the same arguments, but other values.
//
// The language is that of Microsoft Learn, "Bicep file structure and syntax" and
// the pages below it. What this package does not know is an error with its
// position, never a silent null. Not read: extensions, assertions, test blocks,
// .bicepparam files, modules of a registry, loadYamlContent, loadFileAsBase64.
// The types of resources are not known here: a misspelt property passes, and
// only the Bicep compiler in CI finds it.
//
// Reading order: token.go and lexer.go, ast.go, parser*.go, program.go (files),
// check*.go (what is wrong without values), value.go, evaluate.go and
// operators.go, functions*.go, frame.go (one file with its parameters),
// resource.go, module.go, types.go (parameters against their types).
package bicep
