/** Projects in GraphQL. */
import * as projects from '../../../domain/projects/index.ts'
import { newestPosition } from '../../../domain/events/index.ts'
import { connectionOf, hasPrefix } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'
import { type ProjectSummary, summariseProject } from '../../../domain/statistics/index.ts'

export function addProjects(refs: Refs): void {
  const { builder } = refs
  refs.Project.implement({
    description: 'A tenant: every tool, agent, generation and key belongs to one project.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'proj_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the project; it begins with proj_.' }),
      name: t.exposeString('name', {
        description: 'The display name of the project; it need not be unique.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the project was created.' }),
      gatesNeedSecond: t.exposeBoolean('gatesNeedSecond', {
        description: 'Whether a change of a gate must be confirmed by another person: see proposeGateChange.',
      }),
      runGraceSeconds: t.exposeInt('runGraceSeconds', {
        description:
          'How long a generation of a person (OIDC) may still act after the token expired, in seconds.',
      }),
      feedCursor: t.string({
        nullable: true,
        description:
          'The position of the event feed before this operation read anything: projectEvents with it as ' +
          'after joins this ' +
          'response without a gap. Permission: events:Subscribe.',
        resolve: async (project, _args, { ctx, newestPosition: newest }) =>
          projects.feedCursor(ctx, project.id, newest ?? (await newestPosition(ctx))),
      }),
    }),
  })
  const connection = connectionOf(refs.Project, 'Project')
  addById(refs, {
    name: 'project',
    type: refs.Project,
    kind: 'project',
    words: 'A project',
    permission: 'projects:Get',
    load: (loaders, id) => loaders.projects.load(id),
  })
  addList(refs, {
    name: 'projects',
    type: connection,
    description: 'The projects that this API key can see, newest first. Permission: projects:List.',
    ofAnyProject: true,
    list: projects.listProjects,
  })
}

/** The summary of a project in GraphQL. */
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
