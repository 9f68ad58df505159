/** Tools: SOAT's names for the registry. */
import type { z } from 'zod'
import { AppError, invalidAt, notFound } from '../../../core/errors.ts'
import type { Ctx, InputOf } from '../../../domain/access/index.ts'
import {
  createTool,
  deleteTool,
  findTool,
  getTools,
  listTools,
  mcpInputOf,
  hasActions,
  shownConfigs,
  shownFullSchema,
  shownSchema,
  shownValues,
  updateTool,
  type Tool,
} from '../../../domain/tools/index.ts'
import { actionName } from './actions.ts'
import { listReply, defineRoute } from './route.ts'
import * as shapes from './shapes.ts'

type ToolFields = z.output<typeof shapes.updateTool>
type ToolType = (typeof shapes.toolTypes)[number]

const typeOf = ({ kind }: Tool): ToolType => (kind === 'platform' ? 'soat' : kind)

function shown(ctx: Ctx, tool: Tool): shapes.ShownTool {
  const { presetParameters } = tool
  const { http, mcp, platform } = shownConfigs(ctx, tool)
  const hasPresets = Object.keys(presetParameters).length > 0
  return {
    id: tool.id,
    project_id: tool.projectId,
    name: tool.name,
    type: typeOf(tool),
    description: tool.description,
    parameters: hasActions(tool.kind) ? null : (shownFullSchema(ctx, tool) ?? shownSchema(tool)),
    execute: http,
    mcp: mcp && { url: mcp.url, headers: mcp.headers },
    actions: platform?.actions ?? null,
    preset_parameters: hasPresets ? shownValues(ctx, tool, presetParameters) : null,
    created_at: tool.createdAt.toISOString(),
    updated_at: tool.updatedAt.toISOString(),
  }
}

const fieldsOf: Record<ToolType, readonly (keyof ToolFields)[]> = {
  http: ['parameters', 'execute'],
  client: ['parameters'],
  mcp: ['mcp'],
  soat: ['actions'],
}

/** The config of the operations, with what is not given taken from the known tool; undefined when nothing is given. */
function configOf(ctx: Ctx, type: ToolType, given: ToolFields, known: Tool | null): object | undefined {
  for (const field of ['parameters', 'execute', 'mcp', 'actions'] as const)
    if (given[field] && !fieldsOf[type].includes(field))
      throw invalidAt([field], `is not for tools of the type ${type}`)
  if (known && fieldsOf[type].every((field) => given[field] === undefined)) return undefined
  const inputSchema = given.parameters === undefined && known ? known.inputSchema : given.parameters
  if (type === 'soat')
    return { platform: { actions: given.actions?.map((name) => actionName(ctx.actions, name)) } }
  if (type === 'client') return { client: { inputSchema } }
  if (type === 'http') {
    const execute = given.execute === undefined ? known?.http : given.execute
    if (!execute) throw invalidAt(['execute'], 'is required for tools of the type http')
    return { http: { ...execute, inputSchema } }
  }
  if (!given.mcp) throw invalidAt(['mcp'], 'is required for tools of the type mcp')
  return { mcp: { ...(known?.mcp && mcpInputOf(known.mcp)), ...given.mcp } }
}

/** How often a change is computed again after another change of the same tool. */
const maxTries = 5

/** The config is computed from the tool as it was read, so the change names that version. */
async function change(ctx: Ctx, id: string, given: ToolFields): Promise<Tool> {
  for (let tries = 1; ; tries++) {
    const known = await findTool(ctx, id)
    if (given.type !== undefined && given.type !== typeOf(known))
      throw invalidAt(['type'], `must stay ${typeOf(known)}: create a new tool for another type`)
    const config = configOf(ctx, typeOf(known), given, known)
    const input = {
      id,
      name: given.name,
      description: given.description,
      presetParameters: given.preset_parameters,
      ...(config ? { config, expectedVersion: known.version } : {}),
    } as InputOf<typeof updateTool>
    try {
      return (await updateTool(ctx, input)).tool
    } catch (error) {
      const isRace = error instanceof AppError && error.code === 'CONFLICT' && tries < maxTries
      if (!isRace || (await findTool(ctx, id)).version === known.version) throw error
    }
  }
}

const path = '/api/v1/tools'
const one = `${path}/{tool_id}`
const tag = 'Tools'

export const toolRoutes = [
  defineRoute({
    method: 'GET',
    path,
    operationId: 'listTools',
    tag,
    summary: 'The tools of a project, newest first. Permission: tools:List.',
    query: shapes.list,
    answers: { 200: { description: 'The tools.', schema: shapes.toolList } },
    run: ({ request: { ctx }, query }) =>
      listReply(
        path,
        query,
        (input) => listTools(ctx, input),
        (rows) => ({ data: rows.map((tool) => shown(ctx, tool)) }),
      ),
  }),
  defineRoute({
    method: 'POST',
    path,
    operationId: 'createTool',
    tag,
    summary: 'Creates a tool after checking it. Permission: tools:Create.',
    body: shapes.createTool,
    answers: { 201: { description: 'The tool.', schema: shapes.tool } },
    async run({ request: { ctx }, body }) {
      const type = body.type ?? 'http'
      const given = { ...body, type, name: body.name }
      const { tool } = await createTool(ctx, {
        projectId: body.project_id,
        name: body.name,
        description: body.description,
        presetParameters: body.preset_parameters,
        config: configOf(ctx, type, given, null),
        // The operation validates every field.
      } as InputOf<typeof createTool>)
      return { status: 201, body: shown(ctx, tool), headers: { location: `${path}/${tool.id}` } }
    },
  }),
  defineRoute({
    method: 'GET',
    path: one,
    operationId: 'getTool',
    tag,
    summary: 'A tool. Permission: tools:Get.',
    answers: { 200: { description: 'The tool.', schema: shapes.tool } },
    async run({ request: { ctx }, params }) {
      const [tool] = await getTools(ctx, [params['tool_id']!])
      if (!tool) throw notFound('tool', params['tool_id']!)
      return { status: 200, body: shown(ctx, tool) }
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: one,
    operationId: 'updateTool',
    tag,
    summary:
      'Changes the given fields of a tool. Permission: tools:Update, and gates:Update where calls change.',
    body: shapes.updateTool,
    answers: { 200: { description: 'The tool.', schema: shapes.tool } },
    async run({ request: { ctx }, params, body }) {
      return { status: 200, body: shown(ctx, await change(ctx, params['tool_id']!, body)) }
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: one,
    operationId: 'deleteTool',
    tag,
    summary: 'Deletes a tool; calls that were requested before still run. Permission: tools:Delete.',
    answers: { 204: { description: 'It is deleted.' } },
    async run({ request: { ctx }, params }) {
      await deleteTool(ctx, { id: params['tool_id']! })
      return { status: 204 }
    },
  }),
]
