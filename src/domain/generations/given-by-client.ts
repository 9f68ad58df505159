/**
 * What a client gives a run when it starts it: tools of its own, frozen with the run, shown to its model and run by
 * the client, and files of messages.
 */
import { openPart, scalar } from '../../core/shapes.ts'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { compileSchema } from '../../core/json-schema.ts'
import { isJsonObject, jsonTooBig, type JsonObject } from '../../core/json.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import type { RunTool } from '../agents/index.ts'
import { clientDefinition, insertRunTools, isToolName, type Callable } from '../tools/index.ts'
import type { Generation } from './generation.ts'
import { finalAnswerName } from './step/final-answer.ts'
import { resolveAttachments, type AttachmentsInput } from '../files/index.ts'
import type { Ctx } from '../access/index.ts'
import type { FilePart } from '../models/index.ts'

const most = 64
/** All schemas of a run together. */
const schemaLimits = { maxBytes: 128 * 1024, maxDepth: 48 }

export const clientToolsShape = z
  .array(
    openPart('RunToolInput', 'A client tool of one generation.', {
      name: z
        .string()
        .max(64)
        .describe(
          'The name that the model sees; no tool of the agent may have it. It begins with a letter or "_" and has at most 64 ' +
            'letters, digits, "_" and "-".',
        ),
      description: text(10_000)
        .nullish()
        .describe('What the tool does, for the model; at most 10,000 characters.'),
      inputSchema: scalar(
        'JSONSchema',
        z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema object'),
      )
        .nullish()
        .describe(
          'The schema of the arguments. Default: any object. All schemas of a generation together have at most 128 KiB.',
        ),
    }),
  )
  .max(most)
  .describe(
    'Client tools of this generation only, at most 64: the model can call them in every step, also where activeToolIds are ' +
      'set. Child runs and later generations of the thread do not have them.',
  )

/**
 * The client tools of a new run; null for none. Throws INVALID for a name that no tool may have, a schema that does not
 * compile, and schemas that are too large together. That no name collides is checked with the agent's tools.
 */
export function clientToolsOf(
  given: z.output<typeof clientToolsShape> | null | undefined,
  projectId: string,
): RunTool[] | null {
  if (!given || given.length === 0) return null
  const tooBig = firstTooBig(given.map(({ inputSchema }) => inputSchema ?? null))
  if (tooBig) throw invalid([tooBig])
  const issues: Issue[] = []
  const tools = given.map(({ name, description, inputSchema }, i): RunTool => {
    const path = ['input', 'clientTools', String(i)]
    if (!isToolName(name) || name === finalAnswerName)
      issues.push({ path: [...path, 'name'], message: nameRule })
    const schema = inputSchema ?? { type: 'object' }
    const compiled = compileSchema(schema, projectId, [...path, 'inputSchema'])
    if (!compiled.ok) issues.push(compiled.issue)
    return { id: newId('runTool'), name, description: description || null, inputSchema: schema }
  })
  if (issues.length > 0) throw invalid(issues)
  return tools
}

/** Before anything is compiled: one schema that is too big by itself, or all of them together. */
function firstTooBig(schemas: (JsonObject | null)[]): Issue | null {
  for (const [i, schema] of schemas.entries()) {
    const message = jsonTooBig(schema, schemaLimits)
    if (message) return { path: ['input', 'clientTools', String(i), 'inputSchema'], message }
  }
  const message = jsonTooBig(schemas, schemaLimits)
  return message ? { path: ['input', 'clientTools'], message: `their schemas: ${message}` } : null
}

const nameRule = `must begin with a letter or "_" and have at most 64 letters, digits, "_" and "-"; ${finalAnswerName} is reserved`

/**
 * Inserts their definitions, as named parts of the statement that inserts the generation `g`: calls of them are then
 * read like those of any tool.
 */
export function insertClientTools(tools: readonly RunTool[], from: { projectId: string; by: string }): SQL[] {
  const parts = insertRunTools(
    tools.map((tool) => ({
      id: tool.id,
      definition: clientDefinition(tool.name, tool.description, tool.inputSchema),
    })),
    from,
  )
  return parts.map((one, i) => sql`${sql.raw(`rt${i}`)} as (${one})`)
}

/** What the model may call; in every step, since activeToolIds and step rules are about the tools of the agent. */
export function clientCallables({ settings, projectId, createdAt }: Generation): Callable[] {
  return (settings.clientTools ?? []).map((tool) => ({
    ...clientDefinition(tool.name, tool.description, tool.inputSchema),
    id: tool.id,
    projectId,
    version: 1,
    judgedVersion: 1,
    createdAt,
    updatedAt: createdAt,
    runtimeName: tool.name,
    action: null,
    definitionHash: null,
  }))
}

/** The files as the model will get them; their bytes are read when the model is called. Errors of `resolveAttachments`. */
export async function filesOf(
  ctx: Ctx,
  projectId: string,
  given: AttachmentsInput | null | undefined,
  root: readonly string[],
): Promise<FilePart[]> {
  const attachments = await resolveAttachments(ctx, projectId, given, root)
  return attachments.map(({ fileId, filename, contentType }) => ({
    type: 'file',
    mediaType: contentType,
    data: '',
    fileId,
    filename,
  }))
}
