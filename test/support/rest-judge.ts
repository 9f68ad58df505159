/** Judges every response of /api/v1 that passes through fetch by the OpenAPI document that the server itself answers with. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { namesOf } from '../../src/api/protocols/rest/actions.ts'

type Content = Record<string, { schema: object }>
interface Operation {
  responses: Record<string, { $ref?: string; content?: Content }>
}
interface OpenApi {
  paths: Record<string, Record<string, Operation>>
}

export interface RestJudge {
  /** Resolves when all is judged, with the faults of responses, and the successes that were seen: `GET /path 200 type`. */
  verdict(): Promise<{ faults: string[]; seen: Set<string> }>
  /** The successes that the document has, in the same form. */
  documented: string[]
  stop(): void
}

/** Replaces fetch until `stop`. Create clients that keep fetch afterwards. */
export async function judgeRest(): Promise<RestJudge> {
  const text = await readFile(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8')
  const document = JSON.parse(text) as OpenApi
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true })
  ;(addFormats as unknown as (to: Ajv2020) => void)(ajv)
  ajv.addSchema(document, 'openapi')
  const [faults, seen] = [[] as string[], new Set<string>()]
  const pending: Promise<void>[] = []
  const original = globalThis.fetch
  globalThis.fetch = async (input, init) => {
    const response = await original(input, init)
    const [method, url] =
      input instanceof Request ? [input.method, input.url] : [init?.method ?? 'GET', String(input)]
    const { pathname } = new URL(url)
    if (pathname.startsWith('/api/v1/')) pending.push(judge(method, pathname, response.clone()))
    return response
  }

  async function judge(method: string, pathname: string, response: Response): Promise<void> {
    const path = pathOf(document, pathname)
    const operation = path && document.paths[path]![method.toLowerCase()]
    // A path or method that is not documented has no success.
    if (!operation) return void (response.ok && faults.push(`${method} ${pathname} is not documented`))
    const { status } = response
    const type = (response.headers.get('content-type') ?? '').split(';')[0]!
    const name = `${method} ${path} ${status}${status === 204 ? '' : ` ${type}`}`
    if (response.ok) seen.add(name)
    const body = await response.text().catch(() => null)
    if (body === null || status === 204) return
    if (response.ok && !operation.responses[status]) return void faults.push(`${name}: no such response`)
    if (type === 'text/event-stream') {
      for (const event of eventsOf(body)) check(`${name} ${event.event}`, schemaAt('StreamedEvent'), event)
      return
    }
    const at = operation.responses[status]
      ? `openapi#/paths/${pointer(path)}/${method.toLowerCase()}/responses/${status}/content/${pointer(type)}/schema`
      : schemaAt('Error')
    check(name, at, JSON.parse(body))
  }

  function check(name: string, at: string, value: unknown): void {
    const validate = ajv.getSchema(at)
    if (!validate) faults.push(`${name}: there is no schema at ${at}`)
    else if (!validate(value))
      faults.push(`${name}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value).slice(0, 300)}`)
  }

  return {
    async verdict() {
      await Promise.all(pending)
      return { faults, seen }
    },
    documented: successesOf(document),
    stop: () => void (globalThis.fetch = original),
  }
}

const schemaAt = (name: string) => `openapi#/components/schemas/${name}`
const pointer = (name: string) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))

function pathOf(document: OpenApi, pathname: string): string | undefined {
  return Object.keys(document.paths).find((path) => {
    const action = path.split('/actions/')[1]
    if (action) return namesOf(action).some((name) => pathname === `/api/v1/actions/${name}`)
    return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname)
  })
}

function successesOf({ paths }: OpenApi): string[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) =>
      Object.entries(responses).flatMap(([status, { content }]) => {
        if (!status.startsWith('2')) return []
        const name = `${method.toUpperCase()} ${path} ${status}`
        return content ? Object.keys(content).map((type) => `${name} ${type}`) : [name]
      }),
    ),
  )
}

/** The events of a whole stream; comments are passed over. */
function eventsOf(text: string): { event: string; id?: string; data: unknown }[] {
  return text.split('\n\n').flatMap((block) => {
    const fields = Object.fromEntries(
      block.split('\n').flatMap((line) => {
        const match = /^(event|id|data): (.*)$/.exec(line)
        return match ? [[match[1], match[2]]] : []
      }),
    ) as Record<string, string>
    return fields['data'] === undefined
      ? []
      : [{ ...fields, event: fields['event']!, data: JSON.parse(fields['data']) as unknown }]
  })
}
