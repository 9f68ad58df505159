/** `gatehouse tools import`: a tool from the server.json of an MCP registry. */
import { readFileSync } from 'node:fs'
import { readJson, ValidationError } from '../client/index.ts'
import { json, note, oneLine, outJson, red } from './screen.ts'
import { clientOf, textOption, UsageError, type Command, type ParsedArguments } from './usage.ts'

const help = `gatehouse tools import FILE [--name NAME] [--values JSON] [--replace]

import makes an mcp tool from FILE, the server.json of an MCP registry. It serves nothing until a person
has read what the server offers and names it in allow, and every call needs approval.

  --name NAME    the name of the tool; default: the last part of the name of the server
  --values JSON  what the server asks for, such as '{"X-API-Key":"{{secret:NOTES_KEY}}"}'
  --replace      put this version in the place of the one that was imported; it is reviewed again
`

/** The command of tools with `import`. */
export const withImport = (tools: Command): Command => ({
  ...tools,
  help: tools.help.replace('\n\n', `\n${help}\n`),
  options: { name: { type: 'string' }, values: { type: 'string' }, replace: { type: 'boolean' } },
  run(given, signal) {
    if (given.words[0] === 'import') return importServer(given, signal)
    if (Object.keys(given.options).some((name) => ['name', 'values', 'replace'].includes(name)))
      throw new UsageError('--name, --values and --replace go with import FILE.')
    return tools.run(given, signal)
  },
})

interface Import {
  tool: { id: string; name: string; upstream: { status: string; tools: { name: string }[] } }
  changes: { path: string; before?: unknown; after?: unknown }[]
}

const mutation = `mutation ImportServer($input: ImportServerInput!) { importServer(input: $input) {
  ... on ServerImportPayload { changes { path before after } tool { id name registryEntry { name version }
    ... on McpTool { upstream { status tools { name description } } } } }
  ... on ValidationError { issues { path message } } ... on Error { __typename code message } } }`

async function importServer(given: ParsedArguments, signal: AbortSignal): Promise<number> {
  const [, file, ...rest] = given.words
  if (file === undefined || rest.length > 0) throw new UsageError('Say import FILE.')
  const values = textOption(given, 'values')
  const input = {
    server: parsed(textIn(file), file),
    ...(values === undefined ? {} : { values: parsed(values, '--values') }),
    name: textOption(given, 'name') ?? null,
    replace: given.options['replace'] === true,
  }
  const client = clientOf(given)
  try {
    const { importServer: made } = await client.mutate<{ importServer: Import }>(
      mutation,
      { input },
      { signal },
    )
    if (given.options['json'] === true) outJson(made)
    else show(made)
    return 0
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    for (const { path, message } of error.issues) note(red(oneLine(`${path.join('.')}: ${message}`)))
    return 1
  } finally {
    client.close()
  }
}

function show({ tool, changes }: Import): void {
  for (const { path, before, after } of changes)
    note(`${oneLine(path)}: ${json(before ?? null)} -> ${json(after ?? null)}`)
  const { status, tools } = tool.upstream
  note(`${tool.id}  ${oneLine(tool.name)}  ${status}`)
  note(`It offers ${tools.map(({ name }) => oneLine(name)).join(', ') || 'nothing yet'}.`)
  note('It serves none of them until they are in allow.')
}

function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

function parsed(text: string, what: string): unknown {
  try {
    return readJson(text)
  } catch {
    throw new UsageError(`${what} is not valid JSON.`)
  }
}
