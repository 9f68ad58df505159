/** Projects and the viewer on the wire. */
import {
  createProject,
  feedCursor,
  listProjects,
  updateProject,
  type Principal,
  type Project,
} from '../../domain/access/index.ts'
import { newestPosition } from '../../domain/events/index.ts'
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
      gatesNeedSecond: t.exposeBoolean('gatesNeedSecond', {
        description:
          'Whether a change of a gate waits until another person confirms it: see proposeGateChange.',
      }),
      runGraceSeconds: t.exposeInt('runGraceSeconds', {
        description: 'So long after the end of its token a run of a person may still act, in seconds.',
      }),
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
  const payload = (name: string) =>
    builder.objectRef<{ project: Project }>(name).implement({
      description: 'The project as it stands now.',
      fields: (t) => ({
        project: t.expose('project', { type: refs.Project, description: 'The project.' }),
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
    payload: payload('CreateProjectPayload'),
    errors: ['ValidationError', 'LimitReachedError'],
    run: async (ctx, input) => ({ project: await createProject(ctx, input) }),
  })
  addMutation(refs, {
    name: 'updateProject',
    description: 'Changes what is given of a project and keeps the rest.',
    input: builder.inputType('UpdateProjectInput', {
      description: 'Changes of a project.',
      fields: (t) => ({
        id: t.id({ required: true, description: 'Begins with proj_.' }),
        name: t.string({ description: 'For people, 1 to 100 characters.' }),
        runGraceSeconds: t.int({
          description:
            'So long after the end of its token a run of a person may still act: 0 to 2,592,000 seconds. 0 in a new project.',
        }),
        gatesNeedSecond: t.boolean({
          description:
            'True: a change of a gate waits until another person confirms it. Taking that back needs two people as well: see proposeGateChange.',
        }),
      }),
    }),
    payload: payload('UpdateProjectPayload'),
    errors: ['ValidationError', 'NotFoundError'],
    run: async (ctx, input) => ({ project: await updateProject(ctx, input) }),
  })
}
