import {
  type BeforeApplicationShutdown,
  Controller,
  Inject,
  Injectable,
  Logger,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { accountsRpc, type Application, applicationsRpc, type RpcData, type RpcReply } from '#contracts';
import { abortableSleep } from '#errors';
import { RpcHandler } from '#messaging';
import { FailureLog, Readiness } from '#observability';
import { ACCOUNTS_CONFIG, type AccountsConfig, type InitialApplication } from '../accounts.config.js';
import { ApplicationsRepository } from './applications.repository.js';
import { ApplicationsService, type NewApplication } from './applications.service.js';

type Rpc = typeof applicationsRpc & Pick<typeof accountsRpc, 'findApplication' | 'listApplicationIds'>;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

@Controller()
export class ApplicationsController {
  constructor(private readonly applications: ApplicationsService) {}

  @RpcHandler(accountsRpc.findApplication)
  async find({ appId }: Data<'findApplication'>): Reply<'findApplication'> {
    return { application: await this.applications.find(appId) };
  }

  @RpcHandler(accountsRpc.listApplicationIds)
  async listIds(_: Data<'listApplicationIds'>): Reply<'listApplicationIds'> {
    return { appIds: await this.applications.listIds() };
  }

  @RpcHandler(applicationsRpc.create)
  async create(wanted: Data<'create'>): Reply<'create'> {
    return { application: await this.applications.create(wanted) };
  }

  @RpcHandler(applicationsRpc.list)
  async list(_: Data<'list'>): Reply<'list'> {
    return { applications: await this.applications.list() };
  }

  @RpcHandler(applicationsRpc.get)
  async get({ id }: Data<'get'>): Reply<'get'> {
    return { application: await this.applications.get(id) };
  }

  @RpcHandler(applicationsRpc.changeSetting)
  async changeSetting({ id, ...change }: Data<'changeSetting'>): Reply<'changeSetting'> {
    return { settings: await this.applications.changeSetting(id, change) };
  }

  @RpcHandler(applicationsRpc.changePermission)
  async changePermission({ id, ...change }: Data<'changePermission'>): Reply<'changePermission'> {
    return { application: await this.applications.changePermission(id, change) };
  }

  @RpcHandler(applicationsRpc.rotateKeys)
  async rotateKeys({ id, ...which }: Data<'rotateKeys'>): Reply<'rotateKeys'> {
    return { application: await this.applications.rotateKeys(id, which) };
  }

  @RpcHandler(applicationsRpc.revokeOldKeys)
  async revokeOldKeys({ id, ...which }: Data<'revokeOldKeys'>): Reply<'revokeOldKeys'> {
    return { application: await this.applications.revokeOldKeys(id, which) };
  }
}

const RETRY_MS = 500;

/** Creates the configured application if the database has none, as soon as the database is available. */
@Injectable()
export class FirstApplication implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #logger = new Logger('Applications');
  readonly #failures = new FailureLog(this.#logger, 'creating the first application');
  readonly #stop = new AbortController();
  #isSettled = false;
  #creation: Promise<Application | undefined> = Promise.resolve(undefined);

  constructor(
    private readonly applications: ApplicationsService,
    private readonly readiness: Readiness,
    @Inject(ACCOUNTS_CONFIG) private readonly config: AccountsConfig,
  ) {}

  onApplicationBootstrap(): void {
    const { initialApplication } = this.config;
    if (initialApplication === undefined) return;
    this.readiness.register('first application', () => {
      if (!this.#isSettled) throw new Error('not created yet');
    });
    this.#creation = this.#create(initialApplication);
  }

  /** Runs before the database connections close. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#stop.abort();
    await this.#creation;
  }

  created(): Promise<Application | undefined> {
    return this.#creation;
  }

  async #create({ id, appKey, masterKey }: InitialApplication): Promise<Application | undefined> {
    const wanted = { name: 'My app', id, appKey: appKey?.reveal(), masterKey: masterKey?.reveal() };
    while (!this.#stop.signal.aborted) {
      const application = await this.#tryToCreate(wanted);
      if (this.#isSettled) return application;
      await abortableSleep(RETRY_MS, this.#stop.signal);
    }
    return undefined;
  }

  async #tryToCreate(wanted: NewApplication): Promise<Application | undefined> {
    try {
      const application = await this.applications.createFirst(wanted);
      this.#isSettled = true;
      if (application !== undefined) this.#logger.log(`created the application ${application.id}`);
      return application;
    } catch (error) {
      this.#failures.failed(error);
      return undefined;
    }
  }
}

@Module({
  controllers: [ApplicationsController],
  providers: [ApplicationsService, ApplicationsRepository, FirstApplication],
  exports: [ApplicationsService, FirstApplication],
})
export class ApplicationsModule {
  constructor(readiness: Readiness, applications: ApplicationsService) {
    readiness.registerFitness('secret', () => applications.assertSecretFits());
  }
}
