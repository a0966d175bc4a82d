// Package sql reads and evaluates the part of the Azure Cosmos DB query
// language that the emulator serves, over JSON values.
//
// Parse turns a text and its parameters into a Query; the Query's methods
// filter, project, order and aggregate rows. Parsing never evaluates and
// evaluating never fails: as in the service, an expression that makes no sense
// for a row is Undefined, and a query takes a row only if its filter is true.
//
// Served: SELECT with *, VALUE, projections with aliases, DISTINCT and TOP; FROM
// with one root and an alias; WHERE with = != <> < <= > >=, AND, OR, NOT, IN,
// BETWEEN, arithmetic, literals, arrays, objects, parameters and the functions
// listed in functions.go; ORDER BY of property paths; OFFSET … LIMIT; COUNT,
// SUM, MIN, MAX and AVG in the select list.
//
// Not served, refused with an Error: JOIN and IN in FROM, sub-queries, EXISTS,
// GROUP BY, LIKE, the ternary and coalesce operators, bitwise operators,
// user-defined functions, every other built-in function.
//
// Facts: Microsoft Learn, "Azure Cosmos DB for NoSQL query language" (keywords,
// equality and comparison operators, ORDER BY, aggregate functions).
package sql
