/**
 * The prepared statements of an embedded database: each is parsed and planned once, under a name. Call every function
 * while nothing else uses the connection.
 */
import { protocol, type messages, type PGlite, type QueryOptions, type Results } from '@electric-sql/pglite'

type Message = Awaited<ReturnType<PGlite['execProtocolStream']>>[number]

/** A statement that the database knows by name. */
interface Prepared {
  name: string
  /** The type of each parameter. */
  parameters: readonly number[]
  columns: readonly { name: string; dataTypeID: number }[]
}

export interface Statements {
  /**
   * Runs a statement. When the plan of an earlier run is not valid any more, it is prepared again, unless a transaction
   * is open, which has failed then. Errors are those of `PGlite.query`.
   */
  run(
    text: string,
    values: readonly unknown[],
    options: QueryOptions,
    open: boolean,
  ): Promise<Results<object>>
  /** The number of prepared statements. */
  count(): number
}

/** The least recently used statement is closed when there are more: a plan holds memory of the database. */
const mostPrepared = 400

const { serialize } = protocol
/** A migration changed the result of the statement; or the database does not know its name any more. */
const outdated = new Set(['0A000', '26000'])

export function preparedStatements(client: PGlite, most = mostPrepared): Statements {
  const known = new Map<string, Prepared>()
  let names = 0

  const forget = async (text: string) => {
    const { name } = known.get(text)!
    known.delete(text)
    await client.execProtocolStream(
      joined([serialize.close({ type: 'S', name }), serialize.sync()]),
      unsynced,
    )
  }
  const prepare = async (text: string): Promise<Prepared> => {
    const oldest = known.size >= most ? known.keys().next().value : undefined
    if (oldest !== undefined) await forget(oldest)
    const name = `s${++names}`
    const messages = await client.execProtocolStream(
      joined([serialize.parse({ name, text }), serialize.describe({ type: 'S', name }), serialize.sync()]),
      unsynced,
    )
    const made = describedBy(messages, name)
    known.set(text, made)
    return made
  }
  const prepared = async (text: string): Promise<Prepared> => {
    const found = known.get(text)
    if (!found) return prepare(text)
    // The order of the map is the order of use.
    known.delete(text)
    known.set(text, found)
    return found
  }
  const once = async (text: string, values: readonly unknown[], options: QueryOptions, open: boolean) => {
    const statement = await prepared(text)
    // One message: whatever fails in it, the database has answered its Sync when it returns.
    const messages = await client.execProtocolStream(
      joined([
        serialize.bind({ statement: statement.name, values: serialized(client, statement, values) }),
        serialize.execute({}),
        serialize.sync(),
      ]),
      { syncToFs: !open },
    )
    return resultOf(messages, statement, client.parsers, options)
  }
  return {
    async run(text, values, options, open) {
      try {
        return await once(text, values, options, open)
      } catch (error) {
        if (!known.has(text) || !outdated.has(codeOf(error))) throw detailed(error, text, values, options)
        await forget(text)
        // Outside a transaction the failed statement has changed nothing.
        if (open) throw detailed(error, text, values, options)
      }
      return once(text, values, options, open).catch((error: unknown) => {
        throw detailed(error, text, values, options)
      })
    },
    count: () => known.size,
  }
}

const unsynced = { syncToFs: false }

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function describedBy(all: readonly Message[], name: string): Prepared {
  const parameters = find<messages.ParameterDescriptionMessage>(all, 'parameterDescription')
  const columns = find<messages.RowDescriptionMessage>(all, 'rowDescription')
  if (!parameters) throw new Error('The embedded database did not describe a statement.')
  return {
    name,
    parameters: parameters.dataTypeIDs,
    columns: (columns?.fields ?? []).map((field) => ({ name: field.name, dataTypeID: field.dataTypeID })),
  }
}

function find<Found extends Message>(all: readonly Message[], name: Message['name']): Found | undefined {
  return all.find((message) => message.name === name) as Found | undefined
}

function serialized(client: PGlite, { parameters }: Prepared, values: readonly unknown[]) {
  return values.map((value, i) => {
    if (value === null || value === undefined) return null
    const serializer = client.serializers[parameters[i]!]
    return serializer ? serializer(value) : String(value)
  })
}

function resultOf(
  all: readonly Message[],
  { columns }: Prepared,
  defaults: PGlite['parsers'],
  { parsers = {}, rowMode }: QueryOptions,
): Results<object> {
  const done = find<messages.CommandCompleteMessage>(all, 'commandComplete')
  // Without it nobody knows what the database has done.
  if (!done) throw new Error('The embedded database gave no answer to a statement.')
  const readers = columns.map(({ name, dataTypeID }) => {
    const parser = parsers[dataTypeID] ?? defaults[dataTypeID]
    const read = (text: string | null): unknown =>
      text === null || !parser ? text : parser(text, dataTypeID)
    return { name, read }
  })
  const rows: object[] = []
  for (const message of all) {
    if (message.name !== 'dataRow') continue
    const { fields } = message as messages.DataRowMessage
    if (rowMode === 'array') rows.push(readers.map(({ read }, i) => read(fields[i]!)))
    else rows.push(Object.fromEntries(readers.map(({ name, read }, i) => [name, read(fields[i]!)])))
  }
  const [command, ...counts] = done.text.split(' ')
  const affectedRows = command === 'SELECT' ? 0 : Number(counts.at(-1))
  return { rows, fields: [...columns], affectedRows }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code)
}

/** Adds what PGlite adds to the errors of its own statements. */
function detailed(
  error: unknown,
  query: string,
  params: readonly unknown[],
  queryOptions: QueryOptions,
): unknown {
  return error instanceof Error && 'code' in error
    ? Object.assign(error, { query, params, queryOptions })
    : error
}
