// Package bicep reads Bicep files and works out, without Azure, what their
// deployment would contain. Tests use it to hold infra/ to the code.
//
// Load parses a file with all files that it names and checks everything that
// needs no values: names, functions, modules' parameters and outputs, unused
// declarations. Program.Deploy evaluates it for given parameters and returns
// the resources with their bodies, and the outputs. Values that only a
// deployment knows (an endpoint, a principal id, keys) are Symbols, which print
// as <type/name.property>; two symbols of the same property of the same
// resource are equal. Ids are known, since they follow from names. uniqueString
// and guid are stand-ins: their values differ from Azure's, but have the same
// length and characters, and depend only on the arguments.
//
// The language is that of Microsoft Learn, "Bicep file structure and syntax"
// and the pages below it. Anything unknown is an error with its position, never
// a silent null. Not read: extensions, assertions, test blocks, .bicepparam
// files, modules of a registry, loadYamlContent, loadFileAsBase64. This package
// does not know the types of resources: a misspelt property passes, and only
// the Bicep compiler in CI finds it.
//
// Reading order: token.go and lexer.go, ast.go, parser*.go, program.go (files),
// check*.go (what is wrong without values), value.go, evaluate.go and
// operators.go, functions*.go, frame.go (one file with its parameters),
// resource.go, module.go, types.go (parameters against their types).
package bicep
