/** The summary of a project in GraphQL. */
import { type ProjectSummary, summariseProject } from '../../../domain/statistics/index.ts'
import type { Refs } from '../builder/refs.ts'

export function addProjectSummary({ builder }: Refs): void {
  const Summary = builder.objectRef<ProjectSummary>('ProjectSummary').implement({
    description: 'Numbers of what runs in a project and what waits for people, each counted up to 10,000.',
    fields: (t) => ({
      pendingApprovals: t.exposeInt('pendingApprovals', { description: 'The number of pending approvals.' }),
      unknownCalls: t.exposeInt('unknownCalls', {
        description: 'The number of tool calls with status UNKNOWN, which wait for resolveUnknownCall.',
      }),
      faultyUpstreams: t.exposeInt('faultyUpstreams', {
        description: 'The number of upstreams with status DEGRADED, UNREACHABLE or AUTHORIZATION_REQUIRED.',
      }),
      running: t.exposeInt('running', {
        description: 'The number of generations that a worker runs or will run next.',
      }),
      waiting: t.exposeInt('waiting', {
        description: 'The number of generations that wait for a client, an approver or a child run.',
      }),
    }),
  })
  builder.queryField('projectSummary', (t) =>
    t.field({
      type: Summary,
      description:
        'Numbers of what runs in a project and what waits for people. Permission: approvals:List, toolCalls:List, ' +
        'tools:List and generations:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
      },
      resolve: (_root, args, { ctx }) => summariseProject(ctx, args),
    }),
  )
}
