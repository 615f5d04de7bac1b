/**
 * Console server: the built page, from memory. A handful of files, compressed when they were built, is read once.
 *
 * The page gets everything from this listener: its policy lets it load and reach nothing else, be framed by nobody, and
 * run no script and no style that is not one of these files.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The same path beside the source and beside the build. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../../console/dist', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webmanifest: 'application/manifest+json',
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Camera images are data URLs in an answer.
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

interface Page {
  readonly type: string
  readonly etag: string
  readonly caching: string
  readonly identity: Uint8Array
  readonly br: Uint8Array | undefined
  readonly gzip: Uint8Array | undefined
}

export function createConsoleHandler(
  folder = CONSOLE_FOLDER,
): (request: IncomingMessage, response: ServerResponse) => void {
  let pages: ReadonlyMap<string, Page> | undefined
  return (request, response) => {
    // At the first request: most gateway starts never serve the console.
    pages ??= readPages(folder)
    const [path = '/'] = (request.url ?? '/').split('?', 1)
    const page = pages.get(path === '/' ? '/index.html' : path)
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return text(response, 405, 'The console is only read here; its actions go to /api.')
    if (page !== undefined) return send(request, response, page)
    if (path === '/' && pages.size === 0)
      return text(response, 503, 'The console is not built. In a clone: npm run build:console')
    return text(response, 404, 'Nothing is served at this path. / is the console, /mcp for agents, /api for programs.')
  }
}

function readPages(folder: string): ReadonlyMap<string, Page> {
  if (!existsSync(folder)) return new Map()
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  return new Map(
    files.flatMap((file) => {
      const path = join(file.parentPath, file.name)
      const type = TYPES[file.name.split('.').at(-1) ?? '']
      return type === undefined
        ? []
        : [[path.slice(folder.length).replaceAll('\\', '/'), readPage(path, type)] as const]
    }),
  )
}

function readPage(path: string, type: string): Page {
  const identity = readFileSync(path)
  const isAsset = path.includes('/assets/')
  return {
    type,
    etag: `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    // The names of assets contain a hash of their content; the page that names them is requested each time.
    caching: isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    identity,
    br: readIfThere(`${path}.br`),
    gzip: readIfThere(`${path}.gz`),
  }
}

function send(request: IncomingMessage, response: ServerResponse, page: Page): void {
  const headers = { ...HEADERS, etag: page.etag, 'cache-control': page.caching, vary: 'accept-encoding' }
  if (request.headers['if-none-match'] === page.etag) {
    response.writeHead(304, headers).end()
    return
  }
  const accepted = request.headers['accept-encoding'] ?? ''
  const coding = (['br', 'gzip'] as const).find((name) => accepted.includes(name) && page[name] !== undefined)
  const body = page[coding ?? 'identity'] ?? page.identity
  response.writeHead(200, {
    ...headers,
    'content-type': page.type,
    'content-length': body.length,
    ...(coding === undefined ? {} : { 'content-encoding': coding }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

function readIfThere(path: string): Uint8Array | undefined {
  return existsSync(path) ? readFileSync(path) : undefined
}

function text(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
  response.end(`${message}\n`)
}
