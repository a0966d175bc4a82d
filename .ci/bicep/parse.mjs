// Parses every .bicep file below a folder with the grammar of tree-sitter-bicep,
// which knows nothing of infra/internal/bicep. What it can't parse goes to the
// standard error as file:line:column, and the exit code is 1. What the files
// declare goes to the standard output as JSON, for
// infra/internal/bicep/crosscheck.
//
//   node parse.mjs FOLDER

import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Language, Parser } from 'web-tree-sitter'

const kinds = {
  module_declaration: 'module',
  output_declaration: 'output',
  parameter_declaration: 'param',
  resource_declaration: 'resource',
  type_declaration: 'type',
  user_defined_function: 'func',
  variable_declaration: 'var',
}

// A type that is one name, with [] and ? behind it.
const plainType = /^[A-Za-z_][A-Za-z0-9_]*(\[\]|\?)*$/

const files = (folder) =>
  readdirSync(folder, { recursive: true })
    .filter((path) => path.endsWith('.bicep') && !path.split(/[\\/]/).includes('testdata'))
    .map((path) => join(folder, path))
    .sort()

function faults(node) {
  if (node.isError || node.isMissing) return [node]
  return node.hasError ? node.children.flatMap(faults) : []
}

const child = (node, ...types) => node.namedChildren.find((c) => types.includes(c.type))

function declaration(node) {
  const kind = kinds[node.type]
  const name = child(node, 'identifier', 'compatible_identifier').text
  if (kind === 'resource' || kind === 'module') {
    return { kind, name, type: child(node, 'string').text.slice(1, -1) }
  }
  const type = child(node, 'type')?.text
  return kind in { param: 1, output: 1 } && plainType.test(type) ? { kind, name, type } : { kind, name }
}

function declarations(node) {
  const own = node.type in kinds ? [declaration(node)] : []
  return [...own, ...node.namedChildren.flatMap(declarations)]
}

await Parser.init()
const grammar = createRequire(import.meta.url).resolve('tree-sitter-bicep/tree-sitter-bicep.wasm')
const parser = new Parser()
parser.setLanguage(await Language.load(grammar))

const out = []
for (const file of files(process.argv[2])) {
  const { rootNode } = parser.parse(readFileSync(file, 'utf8'))
  const found = faults(rootNode)
  for (const { startPosition: at, isMissing, type } of found) {
    console.error(`${file}:${at.row + 1}:${at.column + 1}: ${isMissing ? `${type} is missing` : 'this can not be parsed'}`)
    process.exitCode = 1
  }
  if (found.length === 0) out.push({ file, declarations: declarations(rootNode) })
}
console.log(JSON.stringify(out, null, 1))
