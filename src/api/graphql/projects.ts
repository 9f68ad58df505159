/** Projects and the viewer on the wire. */
import { createProject, listProjects, type Principal, type Project } from '../../domain/access/index.ts'
import { feedCursor, newestPosition } from '../../domain/generations/index.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export function addProjects(refs: Refs): void {
  const { builder } = refs
  refs.Project.implement({
    description: 'A tenant: everything belongs to one project.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'proj_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with proj_.' }),
      name: t.exposeString('name', { description: 'For people; need not be unique.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
      feedCursor: t.string({
        nullable: true,
        description:
          'The end of the feed before this operation read anything. With it as after, projectEvents gives everything ' +
          'that happened since: an answer and the feed join without a gap. Needs the permission of projectEvents.',
        resolve: async (project, _args, { ctx, newestPosition: newest }) =>
          feedCursor(ctx, project.id, newest ?? (await newestPosition(ctx))),
      }),
    }),
  })
  const connection = connectionOf(refs.Project, 'Project')
  builder.queryField('project', (t) =>
    t.field({
      type: refs.Project,
      nullable: true,
      description: 'A project by id; null when it does not exist for this key.',
      args: { id: t.arg.id({ required: true, description: 'Begins with proj_.' }) },
      resolve: (_root, { id }, { loaders }) => loaders.projects.load(id),
    }),
  )
  builder.queryField('projects', (t) =>
    t.field({
      type: connection,
      description: 'The projects that this key reaches, newest first.',
      args: t.arg.connectionArgs(),
      complexity: listCost,
      resolve: (_root, args, { ctx }) => page(args, (p) => listProjects(ctx, { page: p })),
    }),
  )
  const Viewer = builder
    .objectRef<{ models: { rehearses: boolean }; principal: Principal }>('Viewer')
    .implement({
      description: 'Who is asking, and what this installation is set up for.',
      fields: (t) => ({
        id: t.id({ description: "The key's id.", resolve: (viewer) => viewer.principal.id }),
        name: t.string({ description: "The key's name.", resolve: (viewer) => viewer.principal.name }),
        project: t.field({
          type: refs.Project,
          nullable: true,
          description:
            'The project that is meant when an operation names none; null when the key may not see it.',
          resolve: (viewer, _args, { loaders }) => loaders.projects.load(viewer.principal.projectId),
        }),
        modelNotice: t.string({
          nullable: true,
          description: 'A warning when agents without a model use the rehearsal model, which is not an AI.',
          resolve: (viewer) =>
            viewer.models.rehearses
              ? 'No model key was found: agents without a model use builtin/rehearsal, which is not an AI and follows rules.'
              : null,
        }),
      }),
    })
  builder.queryField('viewer', (t) =>
    t.field({
      type: Viewer,
      description: 'Who is asking.',
      resolve: (_root, _args, { models, ctx }) => ({ models, principal: ctx.principal }),
    }),
  )
  const payload = builder.objectRef<{ project: Project }>('CreateProjectPayload').implement({
    description: 'The new project.',
    fields: (t) => ({
      project: t.expose('project', { type: refs.Project, description: 'The new project.' }),
    }),
  })
  addMutation(refs, {
    name: 'createProject',
    description: "Makes a project. Only an operator's key may; it can then make keys for the project.",
    input: builder.inputType('CreateProjectInput', {
      description: 'A new project.',
      fields: (t) => ({
        name: t.string({ required: true, description: 'For people, 1 to 100 characters.' }),
      }),
    }),
    payload,
    errors: ['ValidationError', 'LimitReachedError'],
    run: async (ctx, input) => ({ project: await createProject(ctx, input) }),
  })
}
