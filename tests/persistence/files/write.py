"""Model files of the installed version, and what these models answer: python make.py FOLDER"""
import sys, json, warnings
from pathlib import Path
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM
import preimage
from preimage import *
from preimage.kernels import Gaussian, Linear, Polynomial
from preimage.invariances import *
warnings.simplefilter("ignore")
rng=np.random.default_rng(0)
X=rng.normal(size=(24,3)); y=np.arange(24)%2; Z=rng.normal(size=(4,3)); t=X[:,0]+np.sin(X[:,1])
G=X.copy(); G[::5,0]=np.nan
models={
 "kernel_pca":(KernelPCA(3,gamma=0.5).fit(X),"transform"),
 "kernel_pca_landmarks":(KernelPCA(3,gamma=0.5,landmarks=8).fit(X),"transform"),
 "kernel_pca_polynomial":(KernelPCA(3,kernel="poly",degree=2).fit(X),"transform"),
 "kernel_pca_sum":(KernelPCA(3,kernel=Gaussian(0.5)+Gaussian(2.0)).fit(X),"transform"),
 "kernel_pca_mixture":(KernelPCA(3,kernel=Gaussian(0.5)+0.1*Linear()).fit(X),"transform"),
 "semi_supervised":(SemiSupervisedKernelPCA(2,gamma=0.5).fit(X,np.where(np.arange(24)<8,y,-1)),"transform"),
 "kernel_fisher":(KernelFisherDiscriminant(gamma=0.5,alpha=1e-2).fit(X,y),"decision_function"),
 "kernel_kmeans":(KernelKMeans(2,gamma=0.5,random_state=0).fit(X),"predict"),
 "kernel_imputer":(KernelImputer(n_components=3,gamma=0.5).fit(G),"transform"),
 "empirical_map":(EmpiricalKernelMap(gamma=0.5).fit(X),"transform"),
 "sparse_greedy":(SparseGreedyRegressor(6,gamma=0.5,alpha=1e-2).fit(X,t),"predict"),
 "renormalized":(Renormalized(SVC(gamma=0.5)).fit(X,y),"predict"),
 "compressed_svc":(compress(SVC(gamma=0.5).fit(X,y),5,X=X),"decision_function"),
 "compressed_svr":(compress(SVR(gamma=0.5).fit(X,t),5,X=X),"predict"),
 "compressed_one_class":(compress(OneClassSVM(gamma=0.5,nu=.3).fit(X),5,X=X),"decision_function"),
 "pipeline":(make_pipeline(StandardScaler(),KernelPCA(3,gamma=0.5)).fit(X),"transform"),
}
out=Path(sys.argv[1]); out.mkdir(parents=True,exist_ok=True)
answers={"queries":Z.tolist(),"models":{}}
for name,(m,method) in models.items():
    try:
        preimage.save(m,out/f"{name}.safetensors")
        q=Z.copy()
        if name=="kernel_imputer": q[:,1]=np.nan
        answers["models"][name]={"method":method,"answer":np.asarray(getattr(m,method)(q)).tolist()}
    except Exception as e: print("SKIP",name,type(e).__name__,str(e)[:150])
(out/"answers.json").write_text(json.dumps(answers))
print(preimage.__version__,preimage.__file__, sorted(answers["models"]))
