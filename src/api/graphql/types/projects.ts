/** Projects in GraphQL. */
import * as projects from '../../../domain/projects/index.ts'
import { newestPosition } from '../../../domain/events/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'
import { summariseProject, projectSummary } from '../../../domain/statistics/index.ts'

export function addProjects(refs: Refs): void {
  refs.shapes.node(refs.Project, 'project', projects.projectShape, (t) => ({
    feedCursor: t.string({
      nullable: true,
      description:
        'The position of the event feed before this operation read anything: projectEvents with it as ' +
        'after joins this ' +
        'response without a gap. Permission: events:Subscribe.',
      resolve: async (project, _args, { ctx, newestPosition: newest }) =>
        projects.feedCursor(ctx, project.id, newest ?? (await newestPosition(ctx))),
    }),
  }))
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
export function addProjectSummary({ builder, shapes }: Refs): void {
  builder.queryField('projectSummary', (t) =>
    t.field({
      type: shapes.object(projectSummary),
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
