/**
 * Projects in GraphQL, with what they keep: secrets, whose values are write-only, and files, whose bytes are uploaded and
 * downloaded by presigned URLs.
 */
import * as projects from '../../../domain/projects/index.ts'
import * as secrets from '../../../domain/secrets/index.ts'
import { newestPosition } from '../../../domain/events/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addById, addList } from '../builder/queries.ts'
import { secretUse } from '../../../domain/statistics/index.ts'
import { downloadUrl, listFiles, fileShape } from '../../../domain/files/index.ts'

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

export function addSavedViews(refs: Refs): void {
  refs.shapes.implement(refs.SavedView, projects.savedView)
  addList(refs, {
    name: 'savedViews',
    type: connectionOf(refs.SavedView, 'SavedView'),
    description:
      "The caller's own saved views of the dashboard and those of the project, newest first. Permission: views:List.",
    list: projects.listSavedViews,
  })
}

export function addSecrets(refs: Refs): void {
  refs.shapes.implement(refs.Secret, secrets.secretShape, (t) => ({
    usedBy: t.field({
      type: [refs.shapes.object(secretUse)],
      description:
        'The tools, upstream servers and model providers that refer to the secret, by name; only those that the ' +
        'caller may read. Permissions: tools:Get, providers:List.',
      resolve: (secret, _args, { loaders }) => loaders.secretUses.load(secret),
    }),
  }))
  const connection = connectionOf(refs.Secret, 'Secret')
  addList(refs, {
    name: 'secrets',
    type: connection,
    description: 'The secrets of a project without their values, newest first. Permission: secrets:List.',
    list: secrets.listSecrets,
  })
}

export function addFiles(refs: Refs): void {
  addFileType(refs)
  addFileQueries(refs)
}

function addFileType({ shapes, File }: Refs): void {
  shapes.node(File, 'file', fileShape, (t) => ({
    downloadUrl: t.string({
      nullable: true,
      description:
        'A presigned URL that returns the bytes with GET for one hour; null while the file is PENDING.',
      resolve: (file, _args, { ctx }) => (file.status === 'READY' ? downloadUrl(ctx, file.id) : null),
    }),
  }))
}

function addFileQueries(refs: Refs): void {
  const connection = connectionOf(refs.File, 'File')
  addById(refs, {
    name: 'file',
    type: refs.File,
    kind: 'file',
    words: 'A file',
    permission: 'files:Get',
    load: ({ files }, id) => files.load(id),
  })
  addList(refs, {
    name: 'files',
    type: connection,
    description: 'The files of a project, newest first. Permission: files:List.',
    list: listFiles,
  })
}
