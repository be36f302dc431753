import { Controller, type INestMicroservice, Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { z } from 'zod';
import { event, rpc, type RpcData, type RpcReply } from '#contracts';
import { appError } from '#errors';
import { Metrics, ObservabilityModule } from '#observability';
import { EventHandler, type ReceivedEvent, RpcHandler } from '../src/handlers.js';
import { MessagingModule } from '../src/messaging.module.js';
import { forward, type Forwarded, type Transport } from '../src/transport.js';

/** The contracts of a service that exists in tests only. */
export const sampleRpc = {
  echo: rpc('sample.echo', z.object({ text: z.string() }), z.object({ text: z.string() })),
  fail: rpc('sample.fail', z.object({ how: z.enum(['known', 'unknown', 'late']) }), z.object({})),
  grow: rpc('sample.grow', z.object({ length: z.number() }), z.object({ text: z.string() })),
  hold: rpc('sample.hold', z.object({}), z.object({ held: z.literal(true) }), 20_000),
  /** Forwarded to the contract of that name. */
  pass: rpc(
    'sample.pass',
    z.object({ to: z.enum(['echo', 'fail', 'hold', 'absent']), length: z.number().optional() }),
    z.object({ text: z.string() }),
    3_000,
  ),
  missing: rpc('sample.missing', z.object({}), z.object({}), 3_000),
};
export const holdWithShortTimeout = rpc('sample.hold', z.object({}), z.object({ held: z.literal(true) }), 250);
export const absentServiceRpc = rpc('absent.echo', z.object({}), z.object({}), 20_000);
export const passWithShortTimeout = { ...sampleRpc.pass, timeoutMs: 250 };
export const sampleEvents = {
  happened: event('sample.happened.v1', z.object({ value: z.string() }), { subscribers: ['sample'] }),
  ignored: event('sample.ignored.v1', z.object({})),
};

type Rpc = typeof sampleRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;
type Happened = ReceivedEvent<typeof sampleEvents.happened>;

/** The recorded calls and the configured behaviour of the sample service. */
export class SampleBehaviour {
  readonly events: Happened[] = [];
  calls = 0;
  /** Calls of `hold`: the readiness probes of a test are no part of them. */
  heldCalls = 0;
  onEvent: (event: Happened) => Promise<void> | void = () => undefined;
  #release: () => void = () => undefined;
  #held = new Promise<void>((resolve) => {
    this.#release = resolve;
  });

  /** Releases all held calls, later ones included. */
  release(): void {
    this.#release();
  }

  async hold(): Promise<void> {
    await this.#held;
  }
}

@Controller()
class SampleController {
  constructor(@Inject(SampleBehaviour) private readonly behaviour: SampleBehaviour) {}

  @RpcHandler(sampleRpc.echo)
  echo({ text }: Data<'echo'>): Reply<'echo'> {
    this.behaviour.calls += 1;
    return Promise.resolve({ text });
  }

  @RpcHandler(sampleRpc.fail)
  fail({ how }: Data<'fail'>): Reply<'fail'> {
    if (how === 'unknown') return Promise.reject(new TypeError('secret text: password=hunter2'));
    if (how === 'late') return Promise.reject(appError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 7 }));
    return Promise.reject(appError('USERNAME_TAKEN', { message: 'a text of its own' }));
  }

  @RpcHandler(sampleRpc.grow)
  grow({ length }: Data<'grow'>): Reply<'grow'> {
    return Promise.resolve({ text: 'x'.repeat(length) });
  }

  @RpcHandler(sampleRpc.pass)
  pass({ to, length = 1 }: Data<'pass'>): Promise<Forwarded<RpcReply<Rpc['pass']>>> {
    this.behaviour.calls += 1;
    const questions = {
      echo: () => forward(sampleRpc.echo, { text: 'x'.repeat(length) }),
      fail: () => forward(sampleRpc.fail, { how: 'known' }),
      hold: () => forward(sampleRpc.hold, {}),
      absent: () => forward(absentServiceRpc, {}),
    };
    return Promise.resolve(questions[to]() as Forwarded<RpcReply<Rpc['pass']>>);
  }

  @RpcHandler(sampleRpc.hold)
  async hold(_: Data<'hold'>): Reply<'hold'> {
    this.behaviour.calls += 1;
    this.behaviour.heldCalls += 1;
    await this.behaviour.hold();
    return { held: true };
  }

  @EventHandler(sampleEvents.happened)
  async happened(happened: Happened): Promise<void> {
    this.behaviour.events.push(happened);
    await this.behaviour.onEvent(happened);
  }
}

/** Runs the sample service over the transport. Closing it closes the transport, too. */
export async function startSample(transport: Transport, behaviour: SampleBehaviour): Promise<INestMicroservice> {
  @Module({
    imports: [ObservabilityModule.forRoot(new Metrics()), MessagingModule.forRoot(transport)],
    controllers: [SampleController],
    providers: [{ provide: SampleBehaviour, useValue: behaviour }],
  })
  class SampleModule {}
  const app = await NestFactory.createMicroservice(SampleModule, {
    strategy: transport.createServer('sample'),
    logger: false,
  });
  await app.listen();
  return app;
}
