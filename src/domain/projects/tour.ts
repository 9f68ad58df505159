/** The tour of a first start: a call that waits, a server that is killed, a verdict, and one effect. */
import { z } from 'zod'
import { whole } from '../../core/check.ts'
import { AppError } from '../../core/errors.ts'
import { idOf, part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { atomically } from '../../store/db/database.ts'
import { assertMay, operation, recordChange, type Ctx } from '../access/index.ts'

/** The largest process id of any system that Node runs on. */
const maxProcessId = 2 ** 31 - 1

export const tourShape = part(
  'Tour',
  'What the tour of a first start shows: the demo, and the process that answers.',
  {
    agentId: idOf('agent', 'agent', "the demo's agent"),
    toolId: idOf('tool', 'tool', "the demo's tool that pays money back and stops at its gate"),
    prompt: view.text('A prompt with which the agent calls that tool, and is stopped.'),
    processId: view.int('The id of the process that answers.'),
    startedAt: view.date('When that process started.'),
    canKill: view.flag('Whether killServer ends this process and another one takes its place.'),
    effects: view
      .int(
        "How many requests the demo's upstream, which is no part of the server that is killed, has executed; null: not known.",
      )
      .nullable(),
  },
)
export type Tour = z.output<typeof tourShape>

/** What this process shows; null where there is no demo, and to callers without an operator's key. */
export async function readTour({ tour, principal }: Ctx): Promise<Tour | null> {
  if (!tour || !principal.installation) return null
  const { agentId, toolId, prompt, kill } = tour
  const startedAt = new Date(Date.now() - process.uptime() * 1000)
  const effects = await tour.effects().catch(() => null)
  return { agentId, toolId, prompt, processId: process.pid, startedAt, canKill: kill !== null, effects }
}

/** CONFLICT when another process answers, so that a request that is sent again does not kill the next one. */
export const killServer = operation({
  name: 'killServer',
  does:
    'Kills the process that answers, as kill -9 does, and starts another one: the tour shows with it that nothing is ' +
    "lost. Only an operator's API key may, and only where viewer.tour has canKill.",
  permission: 'server:Kill',
  input: z
    .object({
      processId: whole(1, maxProcessId).describe(
        'The id of the process to kill, as in viewer.tour; with another one the mutation returns ConflictError.',
      ),
    })
    .describe('The process to kill.'),
  payload: part('KillServerPayload', 'The process that is being killed.', {
    processId: view.int('The id of the process that is being killed.'),
  }),
  refuses: ['CONFLICT'],
  async run(ctx, { processId }) {
    const { projectId, installation } = ctx.principal
    await assertMay(ctx, 'server:Kill', projectId, 'server/*')
    if (!installation)
      throw new AppError('FORBIDDEN', "Only an operator's key may kill the server.", {
        action: 'server:Kill',
      })
    if (!ctx.tour?.kill)
      throw new AppError('CONFLICT', 'Nothing would start this server again: it is not killed.')
    if (processId !== process.pid)
      throw new AppError('CONFLICT', `Process ${processId} does not answer: process ${process.pid} does.`)
    await atomically(ctx.db, (tx) =>
      recordChange(tx, ctx, {
        projectId,
        action: 'server:Kill',
        resource: `server/${processId}`,
        details: {},
      }),
    )
    ctx.tour.kill()
    return { processId }
  },
})
