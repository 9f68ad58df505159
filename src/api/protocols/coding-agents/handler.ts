/**
 * The hooks of coding agents at `/v1/agent/{agent}/hook`. A reply of 2xx always has a decision: without one, some of them run
 * what they asked about.
 */
import { notFound } from '../../../core/errors.ts'
import { askAsAgent, reportAsAgent, type AgentAnswer } from '../../../domain/coding-agents/index.ts'
import type { ApiCall, ApiReply, AuthenticatedApi } from '../../http/authenticated-api.ts'
import { check, whole } from '../../../core/check.ts'
import { z } from 'zod'
import { programs, type Later } from './programs.ts'

const resource = '/v1/agent'

/** A day: agents wait as long for their hooks at most. */
const mostSeconds = 86_400
const defaultSeconds = 30

/** Nobody has decided: the same request may be sent again. */
const tooEarly = 425

const queryShape = z.object({
  wait: whole(0, mostSeconds),
  undecided: z.enum(['deny', 'defer', 'retry']),
})

/** `pageOf` is the address where people decide. */
export function codingAgentsApi(pageOf: () => string): AuthenticatedApi {
  return {
    resource,
    routes: [
      {
        method: 'POST',
        path: `${resource}/{agent}/hook`,
        run: (call) => answerHook(call, pageOf),
      },
    ],
    errorBody({ message }, path) {
      const program = programOf(path.slice(resource.length + 1).split('/')[0] ?? '') ?? programs['claude']!
      return program.refusal(`Gatehouse: ${message} Nothing was allowed.`)
    },
  }
}

const programOf = (name: string) => (Object.hasOwn(programs, name) ? programs[name] : undefined)

async function answerHook({ request, params }: ApiCall, pageOf: () => string): Promise<ApiReply> {
  const { ctx, query, disconnected } = request
  const program = programOf(params['agent']!)
  if (!program) throw notFound('coding agent', params['agent']!)
  const { wait, undecided } = readQuery(query)
  const body = await request.body()
  const event = program.read(body ?? null, undecided)
  if ('report' in event) {
    await reportAsAgent(ctx, event.call, event.report.output, event.report.isError)
    return { status: 200, body: {} }
  }
  const asker = { maxMs: wait * 1000, signal: disconnected, takesEdits: event.takesEdits }
  const answer = await askAsAgent(ctx, event.call, asker)
  const status = answer.answer === 'WAIT' && undecided === 'retry' ? tooEarly : 200
  return { status, body: event.render(withWords(answer, pageOf())) }
}

function readQuery(query: URLSearchParams): { wait: number; undecided: Later } {
  const text = query.get('wait')
  return check(
    queryShape,
    {
      wait: text === null ? defaultSeconds : /^\d{1,6}$/.test(text) ? Number(text) : text,
      undecided: query.get('undecided') ?? 'deny',
    },
    ['query'],
  )
}

/** What the agent's model reads. */
function withWords(answer: AgentAnswer, page: string): AgentAnswer {
  if (answer.answer !== 'WAIT') return answer
  return {
    ...answer,
    reason: `Still waiting for an approver, who decides at ${page}. The call was not run: try the same call again later.`,
  }
}
