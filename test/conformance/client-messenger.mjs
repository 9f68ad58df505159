// The program that the suite starts: it hands the task to the test, which waits at DRIVER_URL, and prints what happened.
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context, DRIVER_URL } = process.env
const task = { scenario, url: process.argv.at(-1), context: JSON.parse(context ?? '{}') }
const response = await fetch(DRIVER_URL, { method: 'POST', body: JSON.stringify(task) })
console.log(await response.text())
